"""refhist for GDB: source this file, or put `source .../refhist.py` into ~/.gdbinit.

After that `import refhist` gives GDB's Python what refhist knows: history(), leaks(), objects(), findings(), status().
"""

import os
import sys

import gdb


class _Unusable(Exception):
    """The message says what is missing and what to do."""


def _load(folder):
    if not hasattr(gdb, "BreakpointLocation"):
        raise _Unusable(f"this is GDB {gdb.VERSION}, and refhist needs GDB 13 or newer")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        import ctypes  # noqa: F401: only to tell in one sentence when it is missing
    except ImportError:
        raise _Unusable(
            "the Python inside this GDB has no ctypes module; use a GDB that is linked with a complete "
            "Python (on Debian: the package gdb, not gdb-minimal)"
        )
    import refhist_gdb

    problem = refhist_gdb.load(folder)
    if problem:
        raise _Unusable(problem)


def _source():
    # The package lies beside this file, or beside what a symbolic link to this file points at. In a script of the user's
    # that sources this file, __file__ is that script.
    file = here = os.path.abspath(_source.__code__.co_filename)
    while not os.path.isdir(os.path.join(os.path.dirname(file), "refhist_gdb")):
        if not os.path.islink(file):
            raise _Unusable(f"the folder refhist_gdb is missing beside {here}; install refhist again")
        file = os.path.join(os.path.dirname(file), os.readlink(file))
    _load(os.path.dirname(file))


if __name__ == "__main__":  # GDB runs what it sources under this name
    try:
        _source()
    except _Unusable as _problem:  # raised further, it would be shown as a traceback
        gdb.write(f"refhist: not loaded: {_problem}\n", gdb.STDERR)
else:
    try:
        _source()
    except _Unusable as _problem:
        raise ImportError(f"refhist: {_problem}") from None
    import refhist_gdb.scripting
    from refhist_scripting import *  # noqa: F401, F403
    from refhist_scripting import __all__  # noqa: F401

    refhist_gdb.scripting.connect(refhist_gdb.loaded())
