"""set refhist ..., show refhist ..."""

import os

import gdb

from .abi import AbiError
from .errors import fail


def register(session):
    SetPrefix("set refhist", gdb.COMMAND_DATA, prefix=True)
    ShowAll("show refhist", gdb.COMMAND_DATA, prefix=True)
    FamiliesFolder(session)


class SetPrefix(gdb.Command):
    """Set a parameter of refhist."""


class ShowAll(gdb.Command):
    """Show the parameters of refhist."""

    def invoke(self, arguments, from_tty):
        if arguments:
            fail(f"there is no parameter refhist {arguments}: try help show refhist")
        gdb.execute(f"show {FamiliesFolder.name}")


class FamiliesFolder(gdb.Parameter):
    """The folder whose TOML files define the families."""

    name = "refhist families-folder"
    set_doc = "Set the folder whose TOML files define the families that `refhist track` knows."
    show_doc = "Show the folder whose TOML files define the families that `refhist track` knows."

    def __init__(self, session):
        super().__init__(self.name, gdb.COMMAND_DATA, gdb.PARAM_FILENAME)
        self._session = session
        self.value = session.families_folder

    def get_set_string(self):
        folder, session = os.path.expanduser(self.value), self._session
        self.value = session.families_folder
        if session.tracking:
            fail("families are being tracked; set the folder before `refhist track`")
        if not os.path.isdir(folder):
            fail(f"{folder} is not a folder")
        try:
            session.use_families(folder)
        except AbiError as error:
            fail(str(error))
        self.value = folder
        return ""

    def get_show_string(self, value):
        return f"Families are read from {value}."
