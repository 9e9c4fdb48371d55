"""Who reads what this GDB says: a person at a terminal, or a program that speaks GDB/MI (dap.py: the DAP).

A person is told why the program stopped and where. A program wants GDB's own description of the stop, which GDB gives
only where the breakpoint is not silent: without it, MI has `*stopped` without a reason, a thread or a frame.
"""

import re

import gdb

from . import dap

_MI = re.compile(r"mi\d?")
_SECOND_MI = re.compile(r"new-ui\s+mi\d?\s")


def find(session):
    if dap.is_served():
        return dap.Client(session)
    return MachineInterface() if speaks_mi(_command_line()) else Terminal()


def speaks_mi(words):
    """Whether this command line of GDB asks for MI, alone (-i=mi) or beside a console (-ex "new-ui mi TTY")."""
    for word, following in zip(words, [*words[1:], ""]):
        if word in ("-args", "--args"):
            break
        name, equals, value = word.lstrip("-").partition("=")
        is_interpreter = word.startswith("-") and name and "interpreter".startswith(name)
        if is_interpreter and _MI.fullmatch(value if equals else following) or _SECOND_MI.match(word):
            return True
    return False


def _command_line():
    try:
        with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")[1:-1]
    except OSError:
        return []


class Terminal:
    describes_stops = False  # whether GDB itself has to say that the program has stopped at a breakpoint of ours

    def tell(self, text):
        """What happens while the program runs, and at its stops: no answer to a command."""
        gdb.write(text)

    def show_stop(self, reason, place_is_shown):
        gdb.write(reason + "\n")
        if not place_is_shown:
            gdb.execute("frame")


class MachineInterface(Terminal):
    describes_stops = True

    def show_stop(self, reason, place_is_shown):
        gdb.write(reason + "\n")
        if hasattr(gdb, "notify_mi"):  # GDB 14
            gdb.notify_mi("refhist-stopped", {"reason": reason})
