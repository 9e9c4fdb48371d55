"""What the core asks of the debugger: the callbacks of rh_port.

A callback answers 1 for done and 0 for failed. No exception leaves one: ctypes would print it and go on with
a made-up answer. The core reads a local process by itself, so on the way of a hit none of this runs there.
"""

import contextlib
import ctypes
import functools
import os

import gdb

from . import abi, mappings, repeated_hits
from .values import address_of

_MASK = (1 << 64) - 1
_REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
_NO_CALLS = "the expression calls a function of the program: print FUNCTION() first, then use $ for its value"
_NOT_PHYSICAL = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME, gdb.SENTINEL_FRAME)


class Port:
    def __init__(self, session):
        self._session = session
        self.interrupts = 0
        self._struct = abi.RhPort(name=b"gdb")
        for name, kind in abi.CALLBACKS.items():
            setattr(self._struct, name, kind(self._guarded(getattr(self, "_" + name))))
        self.pointer = ctypes.pointer(self._struct)

    def _guarded(self, callback):
        @functools.wraps(callback)
        def guarded(*arguments):
            try:
                return 0 if callback(*arguments) is False else 1
            except gdb.error:
                return 0  # the debugger could not do it: an ordinary answer
            except BaseException as error:
                self._session.tell_error(error)
                return 0

        return guarded

    def note_interrupt(self, *_):
        self.interrupts += 1

    # The process

    def is_stopped(self, inferior):
        """True for a live process that can be looked at now."""
        if inferior.pid == 0 or is_core(inferior):
            return False
        try:
            gdb.newest_frame()
        except gdb.error:
            return False
        return True

    def _inferior(self):
        """The followed inferior, else the selected one."""
        return self._session.inferior if self._session.pid else gdb.selected_inferior()

    def _process(self, state, pid, local, sink, context):
        session, inferior = self._session, self._inferior()
        if session.pid:
            state[0] = abi.PROCESS_STOPPED if self._can_look() else abi.PROCESS_RUNNING
            pid[0] = session.pid
            local[0] = is_native(inferior) and os.path.exists(f"/proc/{session.pid}")
        elif is_core(inferior):
            state[0] = abi.PROCESS_CORE
        elif session.inferior is not None and session.inferior.is_valid():
            state[0] = abi.PROCESS_EXITED
        else:
            state[0] = abi.PROCESS_NONE
        sink(context, os.fsencode(mappings.plain_path(inferior.progspace.filename or "")), 0, 0, 0, 0)

    def _can_look(self):
        return self._session.in_event or self.is_stopped(self._session.inferior)

    def _threads(self, sink, context):
        for thread in self._inferior().threads():
            sink(context, (thread.name or "").encode(errors="replace"), thread.ptid[1], 0, 0, 0)

    def _selected_thread(self, tid):
        thread = gdb.selected_thread()
        if thread is None or thread.inferior != self._inferior():
            return False
        tid[0] = thread.ptid[1]

    # Memory and registers

    def _read_memory(self, address, out, size):
        ctypes.memmove(out, bytes(self._inferior().read_memory(address, size)), size)

    def _write_memory(self, address, content, size):
        self._inferior().write_memory(address, ctypes.string_at(content, size))

    def _set_pc(self, tid, address):
        with self._thread(tid):
            gdb.parse_and_eval(f"$pc = {address}")

    def _set_registers(self, tid, values):
        with self._thread(tid):
            frame = gdb.newest_frame()
            now = [int(frame.read_register(name)) & _MASK for name in _REGISTERS]
            for number, name in enumerate(_REGISTERS):
                if values[number] != now[number]:
                    gdb.parse_and_eval(f"${name} = {values[number]}")

    @contextlib.contextmanager
    def _thread(self, tid):
        """The thread selected, and afterwards the one and the frame that the user had selected."""
        before = gdb.selected_thread()
        if before is not None and before.ptid[1] == tid:
            yield
            return
        thread = next((t for t in self._inferior().threads() if t.ptid[1] == tid), None)
        if thread is None:
            raise gdb.error(f"no thread {tid}")
        frame = gdb.selected_frame() if before is not None else None
        thread.switch()
        try:
            yield
        finally:
            if before is not None and before.is_valid():
                before.switch()
                if frame.is_valid():
                    frame.select()

    def _registers(self, tid, out):
        with self._thread(tid):
            frame = gdb.newest_frame()
            for number, name in enumerate(_REGISTERS):
                out[number] = int(frame.read_register(name)) & _MASK

    def _vector_words(self, tid, sink, context):
        with self._thread(tid):
            frame = gdb.newest_frame()
            for number in range(16):
                for name, member, words in (("ymm", "v4_int64", 4), ("xmm", "v2_int64", 2)):
                    with contextlib.suppress(ValueError, gdb.error):  # a processor without it
                        value = frame.read_register(f"{name}{number}")[member]
                        for index in range(words):
                            sink(context, b"", int(value[index]) & _MASK, 0, 0, 0)
                        break

    def _backtrace(self, tid, limit, sink, context):
        with self._thread(tid), gdb.with_parameter("backtrace past-main", True):
            frame = gdb.newest_frame()
            while frame is not None and limit > 0:
                if frame.type() not in _NOT_PHYSICAL:
                    sink(context, b"", frame.pc(), 0, 0, 0)
                    limit -= 1
                frame = frame.older()

    # What is loaded

    def _modules(self, sink, context):
        for path, bias in mappings.modules():
            sink(context, os.fsencode(path), bias & _MASK, 0, 0, 0)

    def _regions(self, sink, context):
        for region in mappings.regions():
            sink(context, os.fsencode(region.path), region.begin, region.end, region.rights, region.offset)

    # Breakpoints

    def _place_breakpoint(self, address):
        # GDB would accept it anywhere, and then fail to continue.
        self._inferior().read_memory(address, 1)
        self._session.breakpoints.place(address)

    def _remove_breakpoint(self, address):
        self._session.breakpoints.remove(address, self._session.standing_at)

    def _breakpoint_alive(self, address):
        return self._session.breakpoints.alive(address)

    def _user_breakpoints(self, sink, context):
        for breakpoint in gdb.breakpoints():
            for location in breakpoint.locations if breakpoint.visible else ():
                if location.address is not None:
                    sink(context, b"", location.address, 0, 0, 0)

    def _place_watchpoint(self, address, size, sink, context):
        try:
            self._session.watchpoints.place(address, size)
        except (gdb.error, RuntimeError) as error:
            sink(context, str(error).encode(), 0, 0, 0, 0)
            return False

    def _remove_watchpoint(self, address):
        self._session.watchpoints.remove(address)

    def _watchpoint_alive(self, address):
        return self._session.watchpoints.alive(address)

    def _is_hit_again(self, address):
        return repeated_hits.is_resumed_at(address)

    def _catch_raw_exit(self, wanted):
        if wanted:
            self._session.exit_catch.place()
        else:
            self._session.exit_catch.remove()

    def _raw_exit_caught(self):
        return self._session.exit_catch.alive()

    def _expect_halts(self):
        self._session.stop_signal.swallow()

    def _let_end(self, tid):
        if self._session.lets_go_at_exit:
            self._session.ends_as = abi.NOTICE_EXITED, int(gdb.newest_frame().read_register("rdi")) & 0xFF
        elif is_native(self._session.inferior):
            self._session.ending.begin(self._session.pid, tid, self._session.standing_at)

    # Code of ours in the program

    def _show_code(self, path, bias):
        self._session.code_symbols.show(os.fsdecode(path), bias)

    # The program that is started next

    def _environment(self, name, sink, context):
        text = gdb.execute(f"show environment {name.decode()}", to_string=True)
        before = f"{name.decode()} = "
        if not text.startswith(before):
            return False
        sink(context, os.fsencode(text[len(before) :].rstrip("\n")), 0, 0, 0, 0)

    def _set_environment(self, name, value):
        if value is None:
            gdb.execute(f"unset environment {name.decode()}", to_string=True)
        else:
            gdb.execute(f"set environment {name.decode()} = {os.fsdecode(value)}", to_string=True)

    # The user

    def _evaluate(self, expression, value, sink, context):
        try:
            # A call would run the program, and breakpoints of ours with it, in the middle of a command.
            with gdb.with_parameter("may-call-functions", False):
                value[0] = address_of(gdb.parse_and_eval(expression.decode()))
        except gdb.error as error:
            reason = _NO_CALLS if "may-call-functions" in str(error) else str(error)
            sink(context, reason.encode(), 0, 0, 0, 0)
            return False

    def _print(self, text):
        text = text.decode(errors="replace")
        tell = self._session.front_end.tell if self._session.in_event else gdb.write
        tell(text if text.endswith("\n") else text + "\n")
        gdb.flush()

    def _interrupted(self):
        return self.interrupts > 0


def is_core(inferior):
    return inferior.connection is not None and inferior.connection.type == "core"


def is_native(inferior):
    return inferior.connection is not None and inferior.connection.type == "native"
