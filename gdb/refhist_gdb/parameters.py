"""set refhist ..., show refhist ...: the core's settings, and the folder that the session is made with."""

import os

import gdb

from .abi import AbiError
from .commands import run
from .errors import fail


def register(session):
    SetSetting(session)
    ShowSettings(session)
    FamiliesFolder(session)


class SetSetting(gdb.Command):
    """Change a setting of refhist: set refhist NAME VALUE (show refhist lists them)."""

    def __init__(self, session):
        super().__init__("set refhist", gdb.COMMAND_DATA, prefix=True)
        self._session = session

    def invoke(self, arguments, from_tty):
        run(self._session, f"set {arguments}")


class ShowSettings(gdb.Command):
    """Show the settings of refhist, or one of them: show refhist [NAME]."""

    def __init__(self, session):
        super().__init__("show refhist", gdb.COMMAND_DATA, prefix=True)
        self._session = session

    def invoke(self, arguments, from_tty):
        run(self._session, f"show {arguments}")
        if not arguments:
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
