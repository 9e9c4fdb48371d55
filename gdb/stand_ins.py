"""Stand-ins for refhist's commands, until the first of them is used. start.py runs this file, and sets FOLDER.

Everything here is done again at every start of GDB, so it imports nothing that GDB has not imported itself.
"""

import os

import gdb


def _load():
    """Puts refhist's own commands in the place of those here."""
    gdb.execute(f"source {os.path.join(FOLDER, 'refhist.py')}")  # noqa: F821: set by start.py
    try:
        import refhist_gdb

        session = refhist_gdb.loaded()
    except ImportError:
        session = None
    if session is None:
        raise gdb.GdbError("refhist cannot be used in this GDB")  # why, was just said
    return session


class Prefix(gdb.Command):
    """`set refhist` or `show refhist`."""

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


class Command(Prefix):
    """A command of refhist's. Completing it is a use of it, too."""

    def complete(self, text, word):
        if word is None:
            return gdb.COMPLETE_NONE  # GDB only asks how to split the line
        _load()
        from refhist_gdb import commands

        return commands.registered[self._name].complete(text, word)


class Count(gdb.Function):
    """$refhist_count(ADDRESS): the recorded reference count of the object at this address; -1: unknown."""

    def __init__(self):
        super().__init__("refhist_count")

    def invoke(self, *values):
        session = _load()
        from refhist_gdb import function

        return function.count(session, *values)


def _register():
    # Written when refhist is built: the commands and their help, each as "NAME\nHELP\f".
    with open(os.path.join(FOLDER, "help.txt"), encoding="utf-8") as file:  # noqa: F821
        for entry in file.read().split("\f")[:-1]:
            name, _, help_text = entry.partition("\n")
            Command(name, help_text)
    Prefix("set refhist", "Change a setting of refhist: set refhist NAME VALUE.", prefix=True)
    Prefix("show refhist", "Show the settings of refhist, or one of them: show refhist [NAME].", prefix=True)
    Count()


_register()
