"""One debugger that runs the program, which takes orders through a socket."""

import itertools
import os
import re
import socket
import subprocess
import time

import cpu_time

SECONDS = 60  # for anything that is waited for
_NUMBERS = itertools.count()
_RECORDED = re.compile(r'"events": ?(\d+)')


class Session:
    def __init__(self, argv, prefix):
        """`argv` launches the program with the argument {socket} and tells at the end how many events it saw.

        Without {socket} in it the argument is appended. `prefix` begins the paths of the files of this session.
        """
        self._path = f"{prefix}{next(_NUMBERS)}"
        self._argv = [word.replace("{socket}", self._path) for word in argv]
        if self._argv == argv:
            self._argv.append(self._path)
        self._ordered = 0
        self._process = self._program = None

    def start(self):
        self._log = open(self._path + ".log", "w+", encoding="utf-8")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._path)
            listener.listen(1)
            listener.settimeout(SECONDS)
            environment = dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb", DEBUGINFOD_URLS="")
            self._process = subprocess.Popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, env=environment
            )
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                self._fail("the program did not start")
        connection.settimeout(SECONDS)
        self._program = connection.makefile("rw", encoding="ascii")
        pid = int(self._answer().split()[1])
        self._pids = cpu_time.tree(self._process.pid, without=pid)

    def work(self, workload, events):
        """(wall, CPU time of the debugger) in seconds."""
        cpu, wall = cpu_time.of(self._pids), time.perf_counter()
        self._order(f"{workload.kind} {events} {workload.depth}")
        self._answer()
        self._ordered += events
        return time.perf_counter() - wall, cpu_time.of(self._pids) - cpu

    def finish(self):
        """The program ends. Fewer events recorded than ordered would mean that the figures mean nothing."""
        self._order("end")
        self._process.wait(SECONDS)
        recorded = _RECORDED.search(self._output())
        if not recorded or int(recorded.group(1)) < self._ordered:
            self._fail(f"{self._ordered} events were ordered, recorded: {recorded.group(1) if recorded else 'unknown'}")

    def kill(self):
        """Ends the debugger, whatever state it is in; nothing when it has ended."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _order(self, line):
        self._program.write(line + "\n")
        self._program.flush()

    def _answer(self):
        line = self._program.readline()
        if not line:
            self._fail("the program has ended")
        return line

    def _output(self):
        self._log.seek(0)
        return self._log.read()

    def _fail(self, why):
        raise RuntimeError(f"{' '.join(self._argv)}\n{self._output()}{why}")
