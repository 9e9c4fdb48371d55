"""refhist in LLDB's Python: `script import refhist` once the plugin is loaded.

In a Python that imports lldb itself:

    import lldb, refhist
    debugger = lldb.SBDebugger.Create()
    refhist.load(debugger)
"""

import lldb
import refhist_lldb
import refhist_scripting
from refhist_scripting import *  # noqa: F401, F403

__all__ = [*refhist_scripting.__all__, "load"]

_loaded = None  # the debugger that load() was given last; without, LLDB's own


def load(debugger):
    """Loads refhist into a debugger that this Python has made; the functions ask that one from now on."""
    global _loaded
    try:
        refhist_lldb.load(debugger)
    except RuntimeError as error:
        raise refhist_scripting.Error(str(error)) from None
    _loaded = debugger


def _run(line):
    debugger = _loaded or lldb.debugger
    if debugger is None:
        return False, "no debugger yet: call refhist.load(debugger) first"
    result = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(f"refhist {line}", result)
    if result.Succeeded():
        return True, result.GetOutput() or ""
    return False, (result.GetError() or "").strip().removeprefix("error: ")


refhist_scripting.use(_run, lambda value: value.GetValueAsUnsigned())
