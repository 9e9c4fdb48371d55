"""GDB's events, told to the core as notices; and why the program stopped, told to the user.

GDB 13 has no event for a launch, an attach, exec, detach or a fork. They are recognised so:
  launch, attach   the first file of symbols that is loaded into a process
  exec             all symbols are thrown away while the user sees the program running
  detach           an end without status or signal of a process that is still there
  fork             an inferior that appears while the user sees the program running; its first thread
                   appears once GDB has decided which of both to follow
"""

import os
import signal

import gdb

from . import abi
from .breakpoints import OurBreakpoint
from .link_map import LinkMapWatch
from .linker_damage import heal, is_linker
from .port import is_core, is_native


_HANDLED = (
    "new_objfile",
    "free_objfile",
    "clear_objfiles",
    "new_inferior",
    "new_thread",
    "exited",
    "inferior_deleted",
    "breakpoint_created",
    "breakpoint_modified",
    "breakpoint_deleted",
    "stop",
)


def connect(session):
    handlers = _Handlers(session)
    for name in _HANDLED:
        getattr(gdb.events, name).connect(getattr(handlers, name))
    if hasattr(gdb.events, "gdb_exiting"):  # GDB 12
        gdb.events.gdb_exiting.connect(handlers.gdb_exiting)


class _Handlers:
    def __init__(self, session):
        self._session = session
        self._link_map = LinkMapWatch(session)
        self._lost = []  # addresses of breakpoints that GDB has lost together with a copy of the linker
        self._executed = False  # exec was seen, the new program's first file not yet
        self._fork = None  # an inferior that a fork has made and that has no thread yet

    # Files

    def new_objfile(self, event):
        session = self._session
        if not session.tracking:
            return
        space = event.new_objfile.progspace
        if session.pid == 0:
            self._meet(space)
        elif space == session.inferior.progspace and not self._too_early(event.new_objfile):
            session.notify(abi.NOTICE_EXECUTED if self._executed else abi.NOTICE_MODULES)
            self._executed = False
            self._renew_lost()
            self._link_map.place()

    def _too_early(self, objfile):
        """After exec GDB learns a remote thread's registers only once the program's own file is loaded."""
        remote = not is_native(self._session.inferior)
        return self._executed and remote and objfile.filename == objfile.progspace.filename

    def _meet(self, space):
        for inferior in gdb.inferiors():
            if inferior.progspace == space and inferior.threads() and not is_core(inferior):
                self._session.follow(inferior)

    def free_objfile(self, event):
        # In the middle of this event GDB's symbol tables are half gone, and placing a breakpoint ends in an
        # internal error. Nothing of the library runs any more, so the core may hear of it at the next hit.
        session = self._session
        if session.pid and event.objfile.progspace == session.inferior.progspace:
            session.modules_left = True
            if is_linker(event.objfile.filename) and is_native(session.inferior):
                self._linker_left()

    def _linker_left(self):
        ours = [*self._link_map.addresses(), *self._session.breakpoints.addresses()]
        try:
            self._lost = heal(self._session.pid, ours)
        except OSError as error:
            self._session.tell_error(error)
        if self._lost:
            self._session.front_end.tell(
                "refhist: GDB believes that the dynamic linker was unloaded, because a dlmopen namespace was closed: "
                "libraries loaded from now on may be missed\n"
            )

    def _renew_lost(self):
        lost, self._lost = self._lost, []
        if lost:
            self._link_map.remove()
            self._session.breakpoints.renew(lost)

    def clear_objfiles(self, event):
        session = self._session
        if session.pid == 0 or event.progspace != session.inferior.progspace or self._fork is not None:
            return
        if any(thread.is_running() for thread in session.inferior.threads()):
            self._executed = True
            self._link_map.remove()
            session.breakpoints.delete_all()

    # Processes

    def new_inferior(self, event):
        followed = self._session.pid and self._session.inferior
        if followed and event.inferior.pid and any(thread.is_running() for thread in followed.threads()):
            self._fork = event.inferior

    def new_thread(self, event):
        session, inferior = self._session, event.inferior_thread.inferior
        if session.pid == 0 or inferior == session.inferior:
            return
        if inferior == self._fork and gdb.parameter("follow-fork-mode") == "child":
            session.follow_fork(inferior)
        self._fork = None

    def exited(self, event):
        session = self._session
        if session.pid == 0 or event.inferior != session.inferior:
            return
        pid = session.pid
        if self._executed:
            self._executed = False
            session.front_end.tell(
                "refhist: the program executed last could not be followed: nothing is known about it\n"
            )
        self._link_map.remove()
        killed_by = gdb.convenience_variable("_exitsignal")
        if session.ends_as is not None:
            session.lost_process(*session.ends_as)
        elif hasattr(event, "exit_code"):
            session.lost_process(abi.NOTICE_EXITED, event.exit_code)
        elif killed_by is not None:
            session.lost_process(abi.NOTICE_SIGNALLED, int(killed_by))
        elif not is_native(event.inferior):
            session.lost_process(abi.NOTICE_DETACHED, 1)  # GDB does not say which, and only it could know
        elif _was_let_go(pid):
            session.lost_process(abi.NOTICE_DETACHED)
        else:
            session.lost_process(abi.NOTICE_SIGNALLED, signal.SIGKILL)

    def gdb_exiting(self, event):
        self._session.notify(abi.NOTICE_QUITTING)

    def inferior_deleted(self, event):
        if event.inferior == self._session.inferior and self._session.pid == 0:
            self._session.inferior = None

    # Breakpoints

    def breakpoint_created(self, breakpoint):
        session = self._session
        if session.pid and breakpoint.visible and session.port.is_stopped(session.inferior):
            session.notify(abi.NOTICE_BREAKPOINTS)

    def breakpoint_modified(self, breakpoint):
        self.breakpoint_created(breakpoint)
        if isinstance(breakpoint, OurBreakpoint) and self._session.pid:
            breakpoint.confine(self._session.inferior)

    def breakpoint_deleted(self, breakpoint):
        self._session.exit_catch.deleted(breakpoint)

    # Stops

    def stop(self, event):
        session = self._session
        session.ending.is_over()
        session.breakpoints.delete_retired()
        session.watchpoints.delete_retired()
        if self._executed:
            self._executed = False
            session.notify(abi.NOTICE_EXECUTED)
        if session.pid == 0 and session.tracking:
            session.meet_process()
        if session.pid and gdb.selected_inferior() == session.inferior:
            session.notify(abi.NOTICE_STOPPED, _signal_number(event))
        session.code_symbols.stopped(event)
        reason, session.stop_reason = session.stop_reason, ""
        if reason:
            users = any(self._is_users(breakpoint) for breakpoint in getattr(event, "breakpoints", ()))
            session.front_end.show_stop(reason, place_is_shown=users)

    def _is_users(self, breakpoint):
        return breakpoint.is_valid() and breakpoint.visible and not self._session.exit_catch.is_ours(breakpoint)


def _was_let_go(pid):
    """Whether GDB has detached from the process: one that it kills it also waits for, so that nothing is left."""
    return os.path.exists(f"/proc/{pid}")


def _signal_number(event):
    name = getattr(event, "stop_signal", "")
    try:
        return signal.Signals[name].value
    except KeyError:
        return int(name[3:]) if name.startswith("SIG") and name[3:].isdigit() else 0
