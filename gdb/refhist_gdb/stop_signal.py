"""What GDB does with SIGSTOP once one of the core's is on its way, with which it has halted a thread."""

import gdb

_QUIET = "handle SIGSTOP nostop noprint nopass"


class StopSignal:
    def __init__(self):
        self._usual = None

    def swallow(self):
        """Neither stops nor is told nor reaches the program."""
        if self._usual is None:
            self._usual = _as_set()
            gdb.execute(_QUIET, to_string=True)

    def as_before(self):
        if self._usual is not None:
            usual, self._usual = self._usual, None
            gdb.execute(usual, to_string=True)


def _as_set():
    """The command that sets it to what it is: the row has name, stop, print, pass and a description."""
    row = next(line for line in gdb.execute("info signals SIGSTOP", to_string=True).splitlines() if line.startswith("SIGSTOP"))
    wanted = zip(row.split()[1:4], ("stop", "print", "pass"))
    return "handle SIGSTOP " + " ".join(word if yes == "Yes" else "no" + word for yes, word in wanted)
