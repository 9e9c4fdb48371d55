"""GDB on a terminal."""

import os
import re
import shlex

from .debugger import Debugger


class GdbDebugger(Debugger):
    name = "gdb"
    prompt = r"\(gdb\) $"

    def _argv(self):
        settings = ["set editing off", "set width 0", "set height 0", "set confirm off", "set pagination off",
                    "set style enabled off", "set debuginfod enabled off", "set breakpoint pending on"]
        argv = [self.case.gdb, "-nx", "-q"]
        for setting in settings:
            argv += ["-iex", setting]
        return argv + (["--args", self.program] if self.program else [])

    def _preparations(self):
        return [f"source {self.case.harness}/in_gdb.py"]

    def _batch_argv(self, script, arguments):
        return [self.case.gdb, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-x", script, "--args",
                self.program, *arguments]

    def _load_command(self):
        return f"source {self.case.build}/gdb/refhist.py"

    def _marker_command(self, number):
        return rf"echo \074<mark {number}>\076\n"

    def _python(self, call):
        return f"python {call}"

    @staticmethod
    def _without_prompts(text):
        return re.sub(r"^(\(gdb\) )+", "", text, flags=re.MULTILINE)

    def _quit_command(self):
        return "quit"

    def _run_command(self, arguments):
        words = " ".join(shlex.quote(a) for a in arguments)
        return f"run {words} </dev/null >{shlex.quote(self.output_path)} 2>&1"

    def cont_in_background(self):
        return self.command("continue &")

    def kill(self):
        return self.command("kill")

    def attach(self, pid):
        return self.command(f"attach {pid}")

    def connect_to_server(self, *arguments):
        port = self._start_server([self.case.gdbserver, "--once", "127.0.0.1:0", self.program, *arguments],
                                  r"on port (\d+)\n")
        return self.command(f"target remote 127.0.0.1:{port}")

    def load_program(self, path):
        return self.command(f"file {path}")

    def save_core(self):
        path = os.path.join(self.case.scratch, "core")
        self.command(f"generate-core-file {path}")
        return path

    def open_core(self, path):
        return self.command(f"core-file {path}")

    def break_at(self, function):
        """Returns the breakpoint's number."""
        text = self.command(f"break {function}")
        return int(re.search(r"Breakpoint (\d+)", text).group(1))

    def break_at_line(self, file, line):
        return self.break_at(f"{file}:{line}")

    def delete_breakpoints(self):
        return self.command("delete")

    def follow_fork(self, mode):
        return self.command(f"set follow-fork-mode {mode}")

    def pass_signal(self, name):
        """The program gets this signal without a stop."""
        return self.command(f"handle {name} nostop noprint pass")

    def break_at_address(self, function, offset=0):
        """A breakpoint on the function's first instruction, or so many bytes behind it; returns its number."""
        return self.break_at(f"*{function}+{offset}")
