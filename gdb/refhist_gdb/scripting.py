"""`import refhist` in GDB's Python: refhist_scripting's functions work on this GDB's session."""

import gdb
import refhist_scripting

from .commands import quit_with
from .values import address_of


def connect(session):
    def run(line):
        done, text, status = session.execute(line)
        if status >= 0:
            gdb.write(text)
            quit_with(status)
        return done, text

    refhist_scripting.use(run, address_of)
