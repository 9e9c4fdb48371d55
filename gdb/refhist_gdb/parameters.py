"""set refhist ..., show refhist ..."""

import os

import gdb

from .abi import AbiError


def register(session):
    gdb.Command("set refhist", gdb.COMMAND_DATA, prefix=True)
    gdb.Command("show refhist", gdb.COMMAND_DATA, prefix=True)
    FamiliesFolder(session)


class FamiliesFolder(gdb.Parameter):
    """The folder whose TOML files define the families."""

    set_doc = "Set the folder whose TOML files define the families that `refhist track` knows."
    show_doc = "Show the folder whose TOML files define the families that `refhist track` knows."

    def __init__(self, session):
        super().__init__("refhist families-folder", gdb.COMMAND_DATA, gdb.PARAM_FILENAME)
        self._session = session
        self.value = session.families_folder

    def get_set_string(self):
        folder, session = os.path.expanduser(self.value), self._session
        self.value = session.families_folder
        if session.tracking:
            raise gdb.GdbError("families are being tracked; set the folder before `refhist track`")
        if not os.path.isdir(folder):
            raise gdb.GdbError(f"{folder} is not a folder")
        try:
            session.use_families(folder)
        except AbiError as error:
            raise gdb.GdbError(str(error))
        self.value = folder
        return ""

    def get_show_string(self, value):
        return f"Families are read from {value}."
