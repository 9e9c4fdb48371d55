"""The one place where an error becomes GDB's."""

import gdb


def fail(line):
    """Ends the command with one line; GDB shows it without a Python traceback."""
    raise gdb.GdbError(line)
