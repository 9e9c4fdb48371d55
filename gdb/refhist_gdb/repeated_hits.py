"""Tells a second report of the same hit from a second call.

A signal that arrives while GDB steps a thread off a breakpoint makes the handler run first. After it the
thread stands at the breakpoint again, and GDB asks stop() again, although the call has not begun: one call,
two hits. GDB knows the case by a momentary breakpoint of its own ("high-priority step resume") there. To list
breakpoints costs as much as a hit, so it is done only when nothing else tells the hit from the thread's last
one: the address is the same, and so is every register where they can be read cheaply.
Limit: a handler that runs into other breakpoints of ours in between hides the repetition.
"""

import ctypes
import re

import gdb

_PTRACE_GETREGS = 12
_USER_REGS_SIZE = 27 * 8  # struct user_regs_struct of <sys/user.h>
_ORIG_RAX = 15 * 8  # tells about system calls, not about the thread's place


class RepeatedHits:
    def __init__(self):
        self._last = {}  # tid -> address and registers of its last hit
        self._ptrace = ctypes.CDLL(None).ptrace
        self._ptrace.restype = ctypes.c_long
        self._ptrace.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self._buffer = ctypes.create_string_buffer(_USER_REGS_SIZE)

    def is_repeated(self, tid, address):
        hit = address, self._registers(tid)
        last = self._last.get(tid)
        self._last[tid] = hit
        return hit == last and _is_resumed_at(address)

    def forget(self):
        self._last.clear()

    def _registers(self, tid):
        """The registers as they are in the kernel; None when GDB does not trace the thread itself."""
        if self._ptrace(_PTRACE_GETREGS, tid, None, self._buffer) != 0:
            return None
        registers = self._buffer.raw
        return registers[:_ORIG_RAX] + registers[_ORIG_RAX + 8 :]


def _is_resumed_at(address):
    thread = gdb.selected_thread().global_num
    momentary = rf"high-priority step resume .*\b0x0*{address:x}\b.* thread {thread}$"
    listed = gdb.execute("maint info breakpoints", to_string=True)
    return re.search(momentary, listed, re.MULTILINE) is not None
