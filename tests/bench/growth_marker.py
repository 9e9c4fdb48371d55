"""Tells, inside GDB or LLDB, the processor time that it and its program have taken so far: `mark` prints a line."""

import os
import resource

_TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    """(parent, ticks of it and of those of its children that have ended)"""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return int(words[1]), sum(int(word) for word in words[11:15])


def _living_below(root):
    """Ticks of the processes that descend from this one."""
    stats = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                stats[int(name)] = _stat(name)
            except (OSError, IndexError):  # it has ended just now
                continue
    total, found = 0, [root]
    while found:
        parent = found.pop()
        below = [pid for pid, (its_parent, _) in stats.items() if its_parent == parent]
        total += sum(stats[pid][1] for pid in below)
        found += below
    return total / _TICKS


def _seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def spent():
    while True:
        ended = _seconds(resource.RUSAGE_CHILDREN)
        living = _living_below(os.getpid())
        if ended == _seconds(resource.RUSAGE_CHILDREN):  # else one has ended meanwhile, and may be counted in neither
            return _seconds(resource.RUSAGE_SELF) + ended + living


def mark(phase):
    """`phase`: what has ended now."""
    print(f"growth: {phase} {spent():.4f}", flush=True)
