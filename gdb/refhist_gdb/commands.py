"""The commands: the core's table, rendered into GDB."""

import gdb

from .errors import fail

registered = {}  # the commands by name

_TOP_LEVEL = "break-on-"  # verbs of this kind are commands of their own as well


def register(session):
    Command(session, "refhist", "")
    for verb in session.verbs():
        if verb.startswith(_TOP_LEVEL):
            Command(session, verb, verb)


class Command(gdb.Command):
    def __init__(self, session, name, verb):
        self._session = session
        self._verb = verb
        self.__doc__ = session.help(verb).rstrip("\n")
        super().__init__(name, gdb.COMMAND_DATA)
        registered[name] = self

    def _line(self, arguments):
        return f"{self._verb} {arguments}" if self._verb else arguments

    def invoke(self, arguments, from_tty):
        self.dont_repeat()
        run(self._session, self._line(arguments))

    def complete(self, text, word):
        if word is None:
            return gdb.COMPLETE_NONE  # GDB only asks how to split the line
        start = text.rpartition(" ")[2]
        skipped = len(start) - len(word)  # GDB's word begins after '-', '.', ':'; the core's after a blank
        words = self._session.complete(self._line(text))
        return [found[skipped:] for found in words if found.startswith(start)]


def run(session, line):
    """Runs a line of the core's and shows what it says."""
    done, text, status = session.execute(line)
    if not done:
        fail(text.rstrip("\n"))
    gdb.write(text)
    if status >= 0:
        quit_with(status)


def quit_with(status):
    gdb.flush()
    gdb.execute("set confirm off")  # the script has said that it wants to leave, whatever still runs
    gdb.execute(f"quit {status}")
