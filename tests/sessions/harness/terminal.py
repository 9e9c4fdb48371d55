"""A program on a pseudo-terminal of its own, as a user would sit at it, with a watchdog instead of sleeps."""

import os
import pty
import re
import select
import signal
import termios
import time


class SessionTimeout(Exception):
    pass


class SessionEnded(Exception):
    pass


class Terminal:
    """Spawns `argv`; every wait ends at `deadline` (time.monotonic) with SessionTimeout."""

    def __init__(self, argv, environment, deadline):
        self.deadline = deadline
        self.transcript = ""
        self.exit_status = None
        self._unread = ""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            self._become(argv, environment)

    @staticmethod
    def _become(argv, environment):
        settings = termios.tcgetattr(0)
        settings[3] &= ~termios.ECHO
        settings[1] &= ~termios.ONLCR
        termios.tcsetattr(0, termios.TCSANOW, settings)
        try:
            os.execve(argv[0], argv, environment)
        finally:
            os._exit(127)

    def send_line(self, line):
        data = (line + "\n").encode()
        while data:
            data = data[os.write(self._fd, data):]

    def press_control_c(self):
        os.write(self._fd, b"\x03")

    def stop(self):
        """The debugger stands still, all its threads."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def read_until(self, pattern):
        """Returns what stands before the first match of the regular expression; the match is consumed."""
        expression = re.compile(pattern)
        while True:
            match = expression.search(self._unread)
            if match:
                before = self._unread[: match.start()]
                self._unread = self._unread[match.end():]
                return before
            if not self._read_more():
                raise SessionEnded(f"the debugger ended while waiting for {pattern!r}")

    def read_to_end(self):
        while self._read_more():
            pass
        rest, self._unread = self._unread, ""
        return rest

    def wait(self):
        """The exit status of the program: 0..255, or minus the signal that ended it. Call after read_to_end."""
        if self.exit_status is None:
            _, status = os.waitpid(self.pid, 0)
            self.exit_status = os.waitstatus_to_exitcode(status)
            os.close(self._fd)
        return self.exit_status

    def destroy(self):
        """Ends whatever still runs; harmless when nothing does."""
        if self.exit_status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def seconds_left(self):
        return max(0.0, self.deadline - time.monotonic())

    def _read_more(self):
        if not select.select([self._fd], [], [], self.seconds_left())[0]:
            raise SessionTimeout("the watchdog ended the session")
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # EIO: the other side is closed
            data = b""
        text = data.decode(errors="replace").replace("\r", "")
        self._unread += text
        self.transcript += text
        return bool(data)
