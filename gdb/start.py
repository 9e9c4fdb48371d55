"""Makes refhist known to GDB without loading it: the first of its commands that is used loads the rest.

Source this file instead of refhist.py where every GDB reads it: it costs 1 ms of GDB's start, refhist.py 20.
"""

import os

import gdb

_HELP = "help.txt"  # written when refhist is built: the commands and their help, each as "NAME\nHELP\f"


def _folder():
    """Where refhist lies: beside this file, or beside what a symbolic link to this file points at."""
    file = os.path.abspath(__file__)
    while not os.path.exists(os.path.join(os.path.dirname(file), _HELP)) and os.path.islink(file):
        file = os.path.join(os.path.dirname(file), os.readlink(file))
    return os.path.dirname(file)


_FOLDER = _folder()


def _load():
    """Puts refhist's own commands in the place of those here."""
    gdb.execute(f"source {os.path.join(_FOLDER, 'refhist.py')}")
    try:
        import refhist_gdb

        session = refhist_gdb.loaded()
    except ImportError:
        session = None
    if session is None:
        raise gdb.GdbError("refhist cannot be used in this GDB")  # why, was just said
    return session


class _Prefix(gdb.Command):
    """`set refhist` or `show refhist`, until it is first used."""

    def __init__(self, name, help_text, **more):
        self.__doc__ = help_text
        self._name = name
        super().__init__(name, gdb.COMMAND_DATA, **more)

    def invoke(self, arguments, from_tty):
        self.dont_repeat()
        _load()
        try:
            gdb.execute(f"{self._name} {arguments}", from_tty)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None  # one line, as the command itself has it


class _Command(_Prefix):
    """A command of refhist's, until it is first used or completed."""

    def complete(self, text, word):
        if word is None:
            return gdb.COMPLETE_NONE  # GDB only asks how to split the line
        _load()
        from refhist_gdb import commands

        return commands.registered[self._name].complete(text, word)


class _Count(gdb.Function):
    """$refhist_count(ADDRESS): how many references to the object at this address were recorded; -1: unknown."""

    def __init__(self):
        super().__init__("refhist_count")

    def invoke(self, *values):
        session = _load()
        from refhist_gdb import function

        return function.count(session, *values)


def _start():
    with open(os.path.join(_FOLDER, _HELP), encoding="utf-8") as file:
        for entry in file.read().split("\f")[:-1]:
            name, _, help_text = entry.partition("\n")
            _Command(name, help_text)
    _Prefix("set refhist", "Change a setting of refhist: set refhist NAME VALUE.", prefix=True)
    _Prefix("show refhist", "Show the settings of refhist, or one of them: show refhist [NAME].", prefix=True)
    _Count()


_start()
