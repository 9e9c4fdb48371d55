"""The thread that ends the program waits until GDB has dealt with what stopped the others.

GDB lets other threads run at a breakpoint of ours. When a stop of one of them is on its way while the process ends, GDB asks
the thread library about a thread that is no more, and gives up ("Cannot find user-level thread"). So no breakpoint of ours
stops a thread from here on, and the one that stands at the exit goes round over the no-operation in front of it, through
GDB's events, until no other thread is stopped.
"""

import os

import gdb

_MOST_ROUNDS = 500  # a thread that the user holds stays stopped
_TRACED = "t"
# What compilers fill the space between functions with; Intel's manual, "NOP: recommended multi-byte sequences".
_NO_OPERATIONS = [bytes.fromhex(text) for text in ("0f1f00", "0f1f4000", "0f1f440000", "0f1f8000000000", "0f1f840000000000", "90")]


class Ending:
    def __init__(self, breakpoints):
        self._breakpoints = breakpoints
        self._pid = self._tid = self._rounds = 0

    def begin(self, pid, tid, standing_at):
        if len(_other_states(pid, tid)) == 0:
            return
        self._pid, self._tid, self._rounds = pid, tid, 0
        self._breakpoints.silence(standing_at)

    def is_of(self, tid):
        return self._tid == tid

    def goes_round(self, address):
        """True when the thread shall come to its breakpoint at `address` once more."""
        self._rounds += 1
        if self._rounds > _MOST_ROUNDS or _TRACED not in _other_states(self._pid, self._tid):
            return False
        before = bytes(gdb.selected_inferior().read_memory(address - 8, 8))
        length = next((len(code) for code in _NO_OPERATIONS if before.endswith(code)), 0)
        if length:
            gdb.parse_and_eval(f"$pc = {address - length}")
        return length != 0

    def is_over(self):
        """The process is gone, or the user sees the program stopped."""
        if self._tid:
            self._pid = self._tid = 0
            self._breakpoints.loud()


def _other_states(pid, tid):
    """Of the process's other threads, as the kernel calls them; none of one that does not run here."""
    states = []
    try:
        for other in os.listdir(f"/proc/{pid}/task"):
            if other != str(tid):
                with open(f"/proc/{pid}/task/{other}/stat", encoding="utf-8", errors="replace") as file:
                    states.append(file.read().rpartition(")")[2].split()[0])
    except OSError:  # one has ended just now
        pass
    return states
