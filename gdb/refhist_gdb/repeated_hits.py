"""GDB's own knowledge that it reports a hit again.

A signal that arrives while GDB steps a thread off a breakpoint makes GDB put a momentary breakpoint there ("high-priority
step resume") and go on with the signal. When the handler is done, or at once when the signal has none, the thread stands
at both breakpoints, and stop() is asked again although the instruction has not been executed.
"""

import re

import gdb


def is_resumed_at(address):
    """To list breakpoints costs as much as a hit."""
    thread = gdb.selected_thread().global_num
    # GDB 16 tells the thread in a line of its own.
    of_thread = rf"(?: thread {thread}|\n(?:\t.*\n)*?\tstop only in thread {thread})$"
    momentary = rf"high-priority step resume .*\b0x0*{address:x}\b.*{of_thread}"
    listed = gdb.execute("maint info breakpoints", to_string=True)
    return re.search(momentary, listed, re.MULTILINE) is not None
