"""The core's session and the process that it follows.

One session in a GDB, and at most one process at a time: the first that exists while something is tracked, or
the selected one when a command is typed. A fork is followed as GDB follows it (`set follow-fork-mode`); the
breakpoints that GDB leaves in the other process count nothing.
"""

import contextlib
import ctypes
import os
import signal

import gdb

from . import abi
from .breakpoints import Breakpoints
from .code_symbols import CodeSymbols
from .ending import Ending
from .exit_catch import ExitCatch
from . import front_end
from .port import Port
from .stop_signal import StopSignal
from .watchpoints import Watchpoints

_EXIT_GROUP = 231  # the system call's number on x86-64


class Session:
    def __init__(self, library, families_folder):
        self._library = library
        self._rh_hit = library.rh_hit
        self.families_folder = families_folder
        self._handle = self._new_handle(families_folder)
        self.front_end = front_end.find(self)
        silent = not self.front_end.describes_stops
        self.breakpoints = Breakpoints(self.hit, silent)
        self.watchpoints = Watchpoints(self.changed)
        self.exit_catch = ExitCatch(silent)
        self.stop_signal = StopSignal()
        self.ending = Ending(self.breakpoints)
        self.code_symbols = CodeSymbols()
        self.port = Port(self)
        self.inferior = None  # the followed one, if a process was met
        self.pid = 0  # of the followed process; 0 when there is none
        self.modules_left = False  # modules went away and the core has not been told yet
        self.standing_at = None  # address of the breakpoint whose hit is being handled
        self.in_event = False  # GDB has stopped the program for an event, though the user sees it running
        self.lets_go_at_exit = False  # the process goes on by itself from there
        self.ends_as = None  # how a process ends that is let go of right before: a notice, and its detail
        self._inside = False  # the core is at work: it must not be entered again
        self.stop_reason = ""  # why the program was stopped on our account, until that is shown
        self._errors_told = set()

    def _new_handle(self, families_folder):
        handle = self._library.rh_session_new(os.fsencode(families_folder))
        if not handle:
            raise abi.AbiError(f"no session could be created with the families in {families_folder}")
        return handle

    def use_families(self, folder):
        """A new session with the families of another folder. Raises AbiError; then the old session stays."""
        handle = self._new_handle(folder)
        self._library.rh_session_free(self._handle)
        self._handle = handle
        self.families_folder = folder
        self.inferior, self.pid = None, 0

    # The command table

    def verbs(self):
        return self._text(self._library.rh_verbs(self._handle)).split()

    def help(self, verb):
        return self._text(self._library.rh_help(self._handle, verb.encode()))

    def complete(self, line):
        return self._text(self._library.rh_complete(self._handle, _bytes(line))).splitlines()

    def execute(self, line):
        """Runs a command. Returns (succeeded, text, exit status with which GDB shall end or -1)."""
        self.meet_process()
        if self.modules_left:
            self.notify(abi.NOTICE_MODULES)
        text, status = ctypes.c_char_p(), ctypes.c_int(-1)
        results = ctypes.byref(text), ctypes.byref(status)
        with self._at_work():
            done = self._library.rh_execute(self._handle, self.port.pointer, _bytes(line), *results)
        self.code_symbols.apply()
        return done != 0, self._text(text.value), status.value

    # What was seen

    @property
    def tracking(self):
        return self._library.rh_tracking(self._handle) != 0

    def count_of(self, address):
        return self._library.rh_count_of(self._handle, address)

    def is_shown(self):
        """The selected inferior is the process that is followed."""
        return self.pid != 0 and gdb.selected_inferior().pid == self.pid

    def own_code(self, address, code):
        """Bytes read from the program's memory, with the program's own in place of what stands there of ours."""
        memory = (ctypes.c_uint8 * len(code)).from_buffer_copy(code)
        return bytes(memory) if self._library.rh_own_code(self._handle, address, memory, len(code)) else code

    # The process

    def meet_process(self):
        """Follows the selected inferior's process if none is followed yet."""
        inferior = gdb.selected_inferior()
        if self.pid == 0 and self.port.is_stopped(inferior):
            self.follow(inferior)

    def follow(self, inferior):
        self.inferior, self.pid = inferior, inferior.pid
        gdb.set_convenience_variable("_exitsignal", None)  # else it would be the last process's at the end
        self.notify(abi.NOTICE_STARTED)

    def follow_fork(self, child):
        """GDB goes on with the child: its objects are the same, its breakpoints are in place."""
        self.inferior, self.pid = child, child.pid
        self.breakpoints.confine(child)
        self.notify(abi.NOTICE_MODULES)

    def lost_process(self, notice, detail=0):
        self.pid = 0
        self.breakpoints.delete_all()
        self.watchpoints.delete_all()
        self.stop_signal.as_before()
        self.ending.is_over()
        self.notify(notice, detail)
        self.code_symbols.forget()

    def notify(self, notice, detail=0):
        if self._inside:
            return
        self.modules_left = False
        try:
            self.in_event = True
            with self._at_work():
                self._library.rh_notify(self._handle, self.port.pointer, notice, detail)
        except BaseException as error:  # an event handler that raises only prints a traceback
            self.tell_error(error)
        finally:
            self.in_event = False

    # Hits

    def hit(self, address):
        """A thread stands at a breakpoint of ours. True when the program shall stop."""
        if self._inside:
            return False
        entered, asked = False, 0
        try:
            pid, tid, _ = gdb.selected_thread().ptid
            if pid != self.pid:
                return False
            self.standing_at = address
            if self.modules_left:
                self.notify(abi.NOTICE_MODULES)
            self._inside = self.in_event = True
            # Python looks for Ctrl-C after calls only, so it cannot come between these two lines.
            entered = True
            if not self.ending.is_of(tid):
                asked = self._rh_hit(self._handle, self.port.pointer, tid, address)
            if self.ending.is_of(tid) and self.ending.goes_round(address):
                return False
            if self.ends_as is not None:
                return True
        except KeyboardInterrupt:  # Ctrl-C for the program, which GDB had just stopped for us
            if not entered:
                self._rh_hit(self._handle, self.port.pointer, gdb.selected_thread().ptid[1], address)
            asked = 1
        except BaseException as error:  # one that leaves stop() would stop the program
            self.tell_error(error)
        finally:
            self._inside = self.in_event = False
            self.standing_at = None
        if asked:
            reason = self._text(self._library.rh_stop_reason(self._handle))
            self.stop_reason = reason or "refhist: stopped by Ctrl-C"
        return asked != 0

    def changed(self, address):
        """A thread has just changed a watched counter."""
        if self._inside:
            return
        try:
            pid, tid, _ = gdb.selected_thread().ptid
            if pid != self.pid:
                return
            self.in_event = True
            with self._at_work():
                self._library.rh_changed(self._handle, self.port.pointer, tid, address)
        except BaseException as error:  # one that leaves stop() would stop the program
            self.tell_error(error)
        finally:
            self.in_event = False

    def raw_exit(self):
        """A thread is about to make an exit system call. True when the program shall stop."""
        if self._inside:
            return False
        try:
            pid, tid, _ = gdb.selected_thread().ptid
            if pid != self.pid:
                return False
            if self.modules_left:
                self.notify(abi.NOTICE_MODULES)
            whole = int(gdb.newest_frame().read_register("orig_rax")) == _EXIT_GROUP
            self.in_event = True
            with self._at_work():
                asked = self._library.rh_raw_exit(self._handle, self.port.pointer, tid, whole)
        except BaseException as error:  # in a condition it would stop the program
            self.tell_error(error)
            return False
        finally:
            self.in_event = False
        if asked:
            self.stop_reason = self._text(self._library.rh_stop_reason(self._handle))
        return asked != 0 or self.ends_as is not None

    # Around calls into the core

    @contextlib.contextmanager
    def _at_work(self):
        """Ctrl-C only sets the port's flag: an exception inside a callback could not be passed on."""
        self._inside = True
        self.port.interrupts = 0
        usual = signal.signal(signal.SIGINT, self.port.note_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)
            self.port.interrupts = 0  # heard, or too late: the next hit is no part of this
            self._inside = False

    def tell_error(self, error):
        """An error of the front end itself: told once, and the session goes on."""
        if isinstance(error, KeyboardInterrupt):
            return  # Ctrl-C between two calls of ours: the next one is heard
        line = f"refhist: internal error: {type(error).__name__}: {error}"
        if line not in self._errors_told:
            self._errors_told.add(line)
            self.front_end.tell(line + "\n")

    @staticmethod
    def _text(text):
        return (text or b"").decode(errors="replace")


def _bytes(line):
    return line.encode(errors="surrogateescape")
