"""LLDB on a terminal. Not asynchronous, so that a command that runs the program comes back when it stops."""

import os
import re
import shlex

from .debugger import Debugger


class LldbDebugger(Debugger):
    name = "lldb"
    prompt = r"\(lldb\) "  # not at the end: LLDB prints what happens to the process behind it

    def _argv(self):
        return [self.case.lldb, "--no-lldbinit", "--no-use-colors"]

    def _preparations(self):
        settings = ["auto-confirm true", "target.process.stop-on-exec false", "use-color false", "term-width 200", "target.input-path /dev/null",
                    "stop-line-count-before 0", "stop-line-count-after 0", "stop-disassembly-display never",
                    f"target.output-path {self.output_path}", f"target.error-path {self.output_path}"]
        commands = ["settings set " + setting for setting in settings]
        commands += ["script lldb.debugger.SetAsync(False)", f"command script import {self.case.harness}/in_lldb.py"]
        return commands + ([f"target create {shlex.quote(self.program)}"] if self.program else [])

    def _batch_argv(self, script, arguments):
        return [self.case.lldb, "--no-lldbinit", "--no-use-colors", "-b", "-s", script, "--", self.program, *arguments]

    def _load_command(self):
        return f"plugin load {self.case.plugin}"

    def _marker_command(self, number):
        return f'script print("<<" + "mark {number}>>")'

    def _python(self, call):
        return f"script in_lldb.{call}"

    @staticmethod
    def _without_prompts(text):
        return re.sub(r"^(\(lldb\) )+", "", text, flags=re.MULTILINE)

    def _quit_command(self):
        return "quit"

    def _run_command(self, arguments):
        words = " ".join(shlex.quote(a) for a in arguments)
        return f"process launch -- {words}" if words else "process launch"

    # A program that Ctrl-C shall reach must run asynchronously, as it does for a user of LLDB. The prompt then is
    # back at once, and the stop announces itself.

    def type_run(self, *arguments):
        self._set_async(True)
        self.command(self._run_command(list(arguments)))

    def type_cont(self):
        self._set_async(True)
        self.command("continue")

    def cont_in_background(self):
        self.type_cont()

    def ask_right_behind_continue(self, line, times):
        return self._ask(f"answer_right_behind_continue({line!r}, {times})")

    def wait_for_stop(self):
        text = self.terminal.read_until(r"(?m)^(\(lldb\) )*Process \d+ (stopped|exited.*)\n")
        self._set_async(False)
        return text

    def interrupt(self):
        self.terminal.press_control_c()
        return self.wait_for_stop()

    def _set_async(self, on):
        self.command(f"script lldb.debugger.SetAsync({on})")

    def kill(self):
        return self.command("process kill")

    def attach(self, pid):
        return self.command(f"process attach --pid {pid}")

    def connect_to_server(self, *arguments):
        port = self._start_server([self.case.lldb_server, "gdbserver", "--pipe", "1", "127.0.0.1:0", "--", self.program,
                                   *arguments],
                                  r"(\d+)\0")
        return self.command(f"gdb-remote 127.0.0.1:{port}")

    def load_program(self, path):
        return self.command(f"target create {path}")

    def save_core(self):
        path = os.path.join(self.case.scratch, "core")
        self.command(f"process save-core --style full {path}")
        return path

    def open_core(self, path):
        return self.command(f"target create --core {path} {shlex.quote(self.program)}")

    def break_at(self, function):
        """Returns the breakpoint's number."""
        text = self.command(f"breakpoint set --name {function}")
        return int(re.search(r"Breakpoint (\d+)", text).group(1))

    def break_at_line(self, file, line):
        text = self.command(f"breakpoint set --file {file} --line {line}")
        return int(re.search(r"Breakpoint (\d+)", text).group(1))

    def delete_breakpoints(self):
        return self.command("breakpoint delete --force")

    def follow_fork(self, mode):
        return self.command(f"settings set target.process.follow-fork-mode {mode}")

    def pass_signal(self, name):
        """The program gets this signal without a stop."""
        return self.command(f"process handle {name} --stop false --notify false --pass true")

    def break_at_address(self, function, offset=0):
        """A breakpoint on the function's first instruction, or so many bytes behind it; returns its number."""
        text = self.command(f"breakpoint set --skip-prologue false --address-slide {offset} --name {function}")
        return int(re.search(r"Breakpoint (\d+)", text).group(1))

    def expect_killed_by(self, signal):
        """LLDB gives the number of a fatal signal as the exit status."""
        self.expect_exit(int(signal))
