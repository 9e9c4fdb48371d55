"""The debugger that this process is: GDB or LLDB."""

import sys

# GDB has its own module loaded already. Importing proves nothing: both may find a folder or a package of the other's name.
gdb = sys.modules.get("gdb")
if gdb is None:
    import lldb


def execute(command):
    """What the command prints. An error of the command is an exception."""
    if gdb:
        return gdb.execute(command, to_string=True)
    result = lldb.SBCommandReturnObject()
    lldb.debugger.GetCommandInterpreter().HandleCommand(command, result)
    if not result.Succeeded():
        raise RuntimeError(f"{command}: {result.GetError()}")
    return result.GetOutput() or ""
