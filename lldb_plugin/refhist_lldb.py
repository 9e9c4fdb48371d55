"""Loads the refhist plugin into an LLDB that runs inside Python.

    import lldb, refhist_lldb
    debugger = lldb.SBDebugger.Create()
    refhist_lldb.load(debugger)

or, inside lldb, `command script import refhist_lldb.py`.

The plugin takes LLDB's functions from the program that loads it. Python keeps the symbols of the modules
that it imports to itself, so they are made public first.
"""

import ctypes
import os
import sys

import lldb


def _make_lldb_public():
    extension = sys.modules.get("lldb._lldb") or sys.modules.get("_lldb")
    path = getattr(extension, "__file__", None)
    if path is not None:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)


def load(debugger):
    """Loads the plugin into `debugger`. Raises RuntimeError when LLDB does not take it."""
    _make_lldb_public()
    plugin = os.path.join(os.path.dirname(os.path.realpath(__file__)), "librefhist_lldb.so")
    result = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(f'plugin load "{plugin}"', result)
    if not result.Succeeded():
        raise RuntimeError(result.GetError().strip())


def __lldb_init_module(debugger, _internal_dict):
    load(debugger)
