"""What the program is ordered to do: see program.c."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    kind: str  # of the order
    depth: int  # frames between main and the function that calls the probe
    frames: int  # of a whole stack at a probe, _start included
    title: str


_OUTER = 6  # _start, the C library's two, main, carry_out and, innermost, the probe's caller
_PROBE = 1


def _workload(kind, frames, title):
    # descend(c, 0, then) is a frame too
    return Workload(kind, frames - _OUTER - _PROBE - 1, frames, title)


WORKLOADS = (
    _workload("pairs", 8, "get and put, stacks of 8 frames"),
    _workload("pairs", 30, "get and put, stacks of 30 frames"),
    _workload("tries", 8, "try_get, whose return value is needed: two stops each, stacks of 8 frames"),
)
SHALLOW, DEEP, TRIES = WORKLOADS
