"""For `refhist-run --children`: each child of fork goes to a debugger of its own.

GDB lets go of a child when its parent goes on. So that nothing is missed until another GDB stands in it, the
child waits where it begins, in a jump to itself: its parent would see it stopped by a signal. The other GDB
puts the code back. A child of vfork has its parent's memory, in which breakpoints of the other GDB would stay:
refhist-run puts the code back, lets it go on to the program that it executes, and hands that over.

refhist-run is told in lines of text, through a named pipe:
  child PARENT CHILD PC BYTES   the child waits at this address, whose code was these bytes, all in hex
  vchild PARENT CHILD PC BYTES  the same, of vfork
  left PARENT CHILD REASON      it needs no debugger of its own
  refused PARENT CHILD REASON   the child runs on unseen
  attached CHILD                it is followed, and its code put back
  ending CHILD                  nobody holds it any more: it is about to end

A program that waits for its child by a pidfd wakes when the child has ended, also when a debugger has yet to hear of
that, and waitid tells it nothing then. So a child is let go of right before it exits, and before a signal ends it.
"""

import ctypes
import os
import re
import signal
import time

import gdb

import refhist_gdb

from . import abi
from .crash_stops import CrashStops

_JUMP_TO_ITSELF = b"\xeb\xfe"
_KCMP, _KCMP_VM = 312, 1  # the system call's number on x86-64
_CAP_SYS_PTRACE = 19
_SECONDS_TO_LET_GO = 10  # that the parent's GDB has
# Those by which a program is ended by others or by its own fault; SIGKILL shows itself to nobody.
_ENDING = "SIGABRT SIGBUS SIGFPE SIGHUP SIGILL SIGINT SIGPIPE SIGQUIT SIGSEGV SIGSYS SIGTERM".split()


def follow(pipe, command):
    """Runs the program by this command, until it has ended."""
    _Parent(refhist_gdb.loaded(), pipe).go_on(command)


def attach(pipe, child, pc, code):
    """Takes over a child that waits. Raises gdb.error; then it still waits."""
    _wait_until_let_go(child)
    gdb.execute(f"attach {child}")
    _write_code(child, pc, bytes.fromhex(code))
    refhist_gdb.loaded().lets_go_at_exit = True
    for name in _ENDING:
        gdb.execute(f"handle {name} stop print pass", to_string=True)
    _tell(pipe, f"attached {child}")


class _Parent:
    def __init__(self, session, pipe):
        self._session, self._pipe = session, pipe
        self._catches = {_catch(kind): kind for kind in ("fork", "vfork")}
        self._caught = None  # the number of the catchpoint that the program stands at
        self._signal = None  # the name of the one that it has stopped for
        self._crash_stops = None if session.lets_go_at_exit else CrashStops()
        gdb.events.stop.connect(self._stopped)

    def _stopped(self, event):
        numbers = [breakpoint.number for breakpoint in getattr(event, "breakpoints", ())]
        self._caught = next((number for number in numbers if number in self._catches), None)
        self._signal = getattr(event, "stop_signal", None)

    def go_on(self, command):
        while command:
            self._caught = self._signal = None
            gdb.execute(command)
            if gdb.selected_thread() is None:
                command = None
            elif self._crash_stops is not None and self._crash_stops.passes(self._signal):
                command = "continue"
            elif self._signal in _ENDING and not _ends(self._signal):
                gdb.execute(f"handle {self._signal} nostop", to_string=True)
                command = "continue"
            elif self._session.ends_as is not None or self._signal in _ENDING:
                self._let_go()
                command = None
            elif self._caught is not None:
                self._hand_over(self._catches[self._caught])
                command = "continue"
            else:  # GDB needs SIGTRAP for itself: a program that raises it stops, and is given it then
                command = "signal SIGTRAP"

    def _hand_over(self, kind):
        parent, child = gdb.selected_inferior().pid, self._child()
        if kind == "fork" and _share_memory(parent, child):
            _tell(self._pipe, f"left {parent} {child} it runs in its parent's memory")
            return
        try:
            if not _may_attach():
                raise OSError("kernel.yama.ptrace_scope is not 0: a debugger may attach to its own children only")
            pc = int(gdb.newest_frame().pc())  # of the child, too
            code = _write_code(child, pc, _JUMP_TO_ITSELF)
        except (OSError, gdb.error) as error:
            _tell(self._pipe, f"refused {parent} {child} {error}")
            return
        _tell(self._pipe, f"{'child' if kind == 'fork' else 'vchild'} {parent} {child} {pc:x} {code.hex()}")
        if kind == "fork":
            self._session.notify(abi.NOTICE_HANDED_OVER, child)

    def _let_go(self):
        pid = gdb.selected_inferior().pid
        if self._session.ends_as is None:
            self._session.ends_as = abi.NOTICE_SIGNALLED, signal.Signals[self._signal]
        self._session.notify(abi.NOTICE_LEAVING)
        gdb.execute("detach")
        _tell(self._pipe, f"ending {pid}")

    def _child(self):
        """GDB 13 tells its number in a text only: "fork, process 1234"."""
        text = gdb.execute(f"info breakpoints {self._caught}", to_string=True)
        return int(re.search(r"fork, process (\d+)", text)[1])


def _catch(kind):
    gdb.execute(f"catch {kind}", to_string=True)
    return max(breakpoint.number for breakpoint in gdb.breakpoints())


def _share_memory(parent, child):
    return ctypes.CDLL(None).syscall(_KCMP, parent, child, _KCMP_VM, 0, 0) == 0


def _may_attach():
    """Whether a debugger that has not started the process may attach to it."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            if int(file.read()) == 0:
                return True
    except OSError:
        return True  # this kernel has no such rule
    effective = _status(os.getpid(), "CapEff")
    return bool(int(effective, 16) >> _CAP_SYS_PTRACE & 1)


def _ends(name):
    """Whether this signal ends the selected thread's process: nobody catches or ignores it. One of the thread's own fault does
    so also when it is blocked."""
    pid, tid, _ = gdb.selected_thread().ptid
    bit = 1 << signal.Signals[name] - 1
    return not any(int(_status(f"{pid}/task/{tid}", key), 16) & bit for key in ("SigCgt", "SigIgn"))


def _wait_until_let_go(child):
    end = time.monotonic() + _SECONDS_TO_LET_GO
    while time.monotonic() < end and _status(child, "TracerPid") != "0":
        time.sleep(0.005)


def _status(pid, key):
    """An entry of /proc/PID/status. Raises OSError."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(line.split()[1] for line in file if line.startswith(key + ":"))


def _write_code(pid, address, code):
    """Returns what was there. Raises OSError."""
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        before = memory.read(len(code))
        memory.seek(address)
        memory.write(code)
    return before


def _tell(pipe, line):
    with open(pipe, "wb", buffering=0) as file:
        file.write(line.encode() + b"\n")
