"""The verbs of the session scripts. What differs between GDB and LLDB stands in gdb_debugger.py and lldb_debugger.py.

A command is typed at the debugger's prompt; its output is what stands before the marker that is typed next.
"""

import json
import os
import re
import select
import subprocess
import threading
import time

from .checks import SessionFailure, check, equal
from .terminal import SessionEnded, Terminal


# Why a site may be a breakpoint although the agent is wanted: the user's doing, or a function without room for a jump.
EXCUSES = ("a thread was inside it", "a thread is at its entry", "the program stopped in this function or near it",
           "a thread has to stop in the bytes of its jump",
           "the process is not on this machine", "too short",
           "a stop rule checks it, and the amount by which it changes the count varies")


class Debugger:
    """One fresh debugger on one program. `case` says where things are (see run.py)."""

    name = ""  # "gdb" or "lldb"
    prompt = ""  # regular expression

    def __init__(self, case):
        self.case = case
        self.variant = case.variant
        self.program = case.program
        self.output_path = os.path.join(case.scratch, "output.txt")
        self._markers = 0
        self._ready = self._go = None
        self._spawned = []
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", LANG="C.UTF-8", TERM="dumb", DEBUGINFOD_URLS="",
                                XDG_CACHE_HOME=os.path.join(case.build, "index-cache"))
        self.environment.pop("PYTHONPATH", None)
        self.terminal = Terminal(self._argv(), self.environment, time.monotonic() + case.seconds)
        self.terminal.read_until(self.prompt)
        for line in self._preparations():
            self.command(line)
        self.terminal.transcript = ""
        if case.load_refhist:
            answer = self.command(self._load_command())
            # LLDB tells of its program's debug information whenever it is ready to.
            ours = [line for line in answer.splitlines() if line.strip() and "Debugging will be degraded" not in line]
            check(not ours, f"loading refhist printed: {answer}")
            self.backend = os.environ.get("REFHIST_TEST_BACKEND", "breakpoint")
            self.refhist(f"set backend {self.backend}")
            self.refhist("set allocators off")

    # Typing -----------------------------------------------------------------------------------------

    def command(self, line):
        """Types a command and returns what it prints."""
        self.type_only(line)
        return self._read_to_marker()

    def type_only(self, line):
        """Types a command that does not come back by itself: follow with wait_for_prompt or expect_debugger_exit."""
        self.terminal.transcript += f"{line}\n"
        self.terminal.send_line(line)

    def wait_for_prompt(self):
        return self.terminal.read_until(self.prompt)

    def interrupt(self):
        """Ctrl-C at the terminal, after type_run or type_cont."""
        self.terminal.press_control_c()
        return self.wait_for_stop()

    def _read_to_marker(self):
        self._markers += 1
        marker = f"<<mark {self._markers}>>"
        self.terminal.send_line(self._marker_command(self._markers))
        text = self.terminal.read_until(marker + "\n")
        self.terminal.read_until(self.prompt)
        return self._without_prompts(text)

    def _ask(self, call):
        """Calls a function of in_gdb.py or in_lldb.py and returns its JSON answer."""
        text = self.command(self._python(call))
        for line in text.splitlines():
            if line.startswith("answer: "):
                return json.loads(line.removeprefix("answer: "))
        raise SessionFailure(f"{call} was answered by: {text}")

    # refhist ----------------------------------------------------------------------------------------

    def refhist(self, line):
        """Runs `refhist LINE`, which must succeed, and returns its text."""
        answer = self.execute("refhist " + line)
        check(answer["ok"], f"refhist {line}: {answer['text']}")
        return answer["text"]

    def refhist_json(self, line):
        text = self.refhist(line + " --json")
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise SessionFailure(f"refhist {line} --json is no JSON ({error}): {text}") from None

    def refhist_error(self, line):
        """Runs `refhist LINE`, which must fail with one line, and returns that line."""
        answer = self.execute("refhist " + line)
        check(not answer["ok"], f"refhist {line} should fail, but printed: {answer['text']}")
        text = answer["text"].strip()
        equal(len(text.splitlines()), 1, f"lines of the error {text!r}")
        return text

    def python(self, expression):
        """The value of an expression in the debugger's Python, where refhist is imported; refhist must not refuse."""
        answer = self._ask(f"answer_python({expression!r})")
        check("value" in answer, f"{expression}: {answer}")
        return answer["value"]

    def python_error(self, expression):
        """The text of the refhist.Error that the expression raises."""
        answer = self._ask(f"answer_python({expression!r})")
        check("error" in answer, f"{expression} should raise refhist.Error, but is {answer}")
        return answer["error"]

    def execute(self, line):
        """Runs any debugger command: {"ok", "text"}."""
        return self._ask(f"answer_execute({line!r})")

    def track(self, words):
        return self.refhist("track " + words)

    def track_conn(self, extra=""):
        """The family of conn.h."""
        probes = "--get conn_get --put conn_put --init conn_new --free conn_free --count refs"
        return self.track(f"{probes} {extra}".strip())

    def object(self, expression, options=""):
        """The one object that `refhist EXPRESSION --json` tells of."""
        found = self.refhist_json(f"{expression} {options}".strip())["objects"]
        equal(len(found), 1, f"objects at {expression}")
        return found[0]

    # The program ------------------------------------------------------------------------------------

    def run(self, *arguments):
        """Starts the program, or starts it again; its output goes to a file (see output)."""
        return self.command(self._run_command(list(arguments)))

    def type_run(self, *arguments):
        """Starts the program without waiting for a stop; interrupt() or wait_for_stop() comes next."""
        self.type_only(self._run_command(list(arguments)))

    def type_cont(self):
        self.type_only("continue")

    def wait_for_stop(self):
        """After type_run and type_cont: until the prompt is back."""
        return self.wait_for_prompt() + self._read_to_marker()

    def cont(self):
        return self.command("continue")

    def cont_in_background(self):
        """Lets the program run on while the prompt comes back."""
        raise NotImplementedError

    def step(self):
        return self.command("step")

    def next(self):
        return self.command("next")

    def finish(self):
        return self.command("finish")

    def stepi(self):
        return self.command("stepi")

    def kill(self):
        raise NotImplementedError

    def detach(self):
        return self.command("detach")

    def attach(self, pid):
        raise NotImplementedError

    def connect_to_server(self, *arguments):
        """Starts the program under a gdbserver on loopback and connects to it."""
        raise NotImplementedError

    def load_program(self, path):
        """Another program than the test's own."""
        raise NotImplementedError

    def save_core(self):
        """Writes a core file of the stopped program and returns its path."""
        raise NotImplementedError

    def open_core(self, path):
        raise NotImplementedError

    def break_at(self, function):
        raise NotImplementedError

    def break_at_line(self, file, line):
        raise NotImplementedError

    def delete_breakpoints(self):
        raise NotImplementedError

    def follow_fork(self, mode):
        raise NotImplementedError

    def up(self):
        return self.command("up")

    def spawn(self, *arguments):
        """Starts the program without the debugger; it is killed at the end of the test."""
        return self.spawn_command([self.program, *arguments])

    def spawn_command(self, argv):
        with open(self.output_path, "wb") as output:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self._spawned.append(process)
        return process

    def _start_server(self, argv, pattern):
        """Starts a debug server that chooses its port and says it as the pattern tells; returns the port."""
        server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._spawned.append(server)
        said = ""
        while True:
            readable, _, _ = select.select([server.stdout], [], [], self.terminal.seconds_left())
            data = os.read(server.stdout.fileno(), 4096) if readable else b""
            check(data, f"the debug server told no port: {said}")
            said += data.decode(errors="replace")
            port = re.search(pattern, said)
            if port:
                # What it says from now on is of no interest, but must be read: a full pipe would hold it up.
                threading.Thread(target=_read_to_end, args=[os.dup(server.stdout.fileno())], daemon=True).start()
                return int(port.group(1))

    def wait_for(self, process):
        """Exit status of a spawned program; minus the signal that ended it."""
        return process.wait(self.terminal.seconds_left())

    def ready_path(self):
        """A pipe (by name) for the program: once it writes a byte there, wait_ready comes back."""
        path = os.path.join(self.case.scratch, "ready")
        os.mkfifo(path)
        self._ready = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        return path

    def wait_ready(self):
        readable, _, _ = select.select([self._ready], [], [], self.terminal.seconds_left())
        check(readable and os.read(self._ready, 1), "the program did not report that it is ready")

    def go_path(self):
        """A pipe (by name) for the program: `let_go` gives it a byte to read."""
        path = os.path.join(self.case.scratch, "go")
        os.mkfifo(path)
        self._go = os.open(path, os.O_RDWR)
        return path

    def let_go(self):
        os.write(self._go, b"g")

    def output(self):
        """What the program printed so far (standard output and error)."""
        with open(self.output_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def printed(self, name):
        """The number N of a line "NAME N" or "NAME=N" in the program's output."""
        for line in self.output().replace("=", " ").splitlines():
            words = line.split()
            if len(words) == 2 and words[0] == name:
                return int(words[1])
        raise SessionFailure(f"the program printed no {name!r}: {self.output()}")

    # What is so -------------------------------------------------------------------------------------

    def state(self):
        return self._ask("answer_state()")

    def value(self, expression):
        """An expression of the program as a number."""
        return self._ask(f"answer_value({expression!r})")

    def threads(self):
        return self._ask("answer_threads()")

    def expect_stop(self, function=None, caller=None, signal=None, breakpoint=None):
        """The program is stopped: innermost in `function`, called by `caller`, by `signal`, by user breakpoint N."""
        state = self.state()
        equal(state["state"], "stopped", f"state of the program ({state})")
        if function is not None:
            equal(state["frames"][0], function, f"innermost frame of {state['frames']}")
        if caller is not None:
            equal(state["frames"][1], caller, f"caller in {state['frames']}")
        if signal is not None:
            equal(state["signal"], signal, "signal")
        if breakpoint is not None:
            check(breakpoint in state["user_breakpoints"], f"not stopped by breakpoint {breakpoint}: {state}")
        return state

    def expect_exit(self, status=0):
        state = self.state()
        equal((state["state"], state.get("exit_status")), ("exited", status), f"end of the program ({state})")

    def expect_killed_by(self, signal):
        state = self.state()
        equal((state["state"], state.get("exit_signal")), ("exited", int(signal)), f"end of the program ({state})")

    def expect_no_process(self):
        # LLDB's `process kill` may come back before it has seen the end of the process.
        for _ in range(200):
            state = self.state()
            if state["state"] in ("none", "exited"):
                return
        check(False, f"there is still a process: {state}")

    # Batch sessions --------------------------------------------------------------------------------

    def write_file(self, name, text):
        path = os.path.join(self.case.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def load_line(self):
        """The command that loads refhist."""
        return self._load_command()

    def run_batch(self, script, arguments=()):
        """A debugger of its own that runs the commands of a file: (exit status, what was printed)."""
        done = subprocess.run(self._batch_argv(script, list(arguments)), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment,
                              timeout=self.terminal.seconds_left(), check=False)
        return done.returncode, done.stdout

    # The end ----------------------------------------------------------------------------------------

    def quit(self):
        """Ends the debugger as a user would; returns its exit status."""
        return self.ending_command(self._quit_command())[0]

    def ending_command(self, line):
        """Types a command that ends the debugger; returns (exit status, what was printed)."""
        self.type_only(line + (" --quit" if line.startswith("refhist check") else ""))
        text = self._without_prompts(self.terminal.read_to_end())
        return self.terminal.wait(), text

    def close(self):
        """After the test: the debugger must still answer and end in order, unless it has ended already."""
        if self.terminal.exit_status is None:
            try:
                self._check_backend()
                status = self.quit()
            except SessionEnded as error:
                raise SessionFailure(str(error)) from None
            equal(status, 0, "exit status of the debugger")

    def _check_backend(self):
        """With the agent, whatever could be recorded in the program was."""
        if not self.case.load_refhist or self.backend == "breakpoint" or self.variant.startswith("static"):
            return
        try:
            sites = self.refhist_json("status")["sites"]
        except SessionFailure:
            return  # the test has left nothing to ask: no target, a broken library
        used = [site for site in sites if site["hits"] and not site["why_breakpoint"].startswith(EXCUSES)]
        left = [f"{site['probe']}: {site['why_breakpoint']}" for site in used if site["backend"] != "agent"]
        check(len(left) <= self.case.left_to_breakpoints, f"left to breakpoints: {left}")

    def destroy(self):
        """Leaves no process behind, however the test ended."""
        self.terminal.destroy()
        for process in self._spawned:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        for pipe in (self._ready, self._go):
            if pipe is not None:
                os.close(pipe)


def _read_to_end(file):
    while os.read(file, 4096):
        continue
    os.close(file)
