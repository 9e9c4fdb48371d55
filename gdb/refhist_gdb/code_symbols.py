"""Symbols and call frame information of the code that the core has put into the program.

GDB does not survive that symbols change while it asks a breakpoint whether to stop: they are told to it at the
next stop that the user sees, or before the next command.
"""

import gdb


class CodeSymbols:
    def __init__(self):
        self._wanted = {}  # bias: path
        self._shown = {}

    def show(self, path, bias):
        if path:
            self._wanted[bias] = path
        else:
            self._wanted.pop(bias, None)

    def forget(self):
        """The process is gone, and its code with it."""
        self._wanted.clear()

    def apply(self):
        if self._wanted == self._shown:
            return
        with gdb.with_parameter("confirm", False):
            for bias in [b for b, path in self._shown.items() if self._wanted.get(b) != path]:
                _quietly(f"remove-symbol-file -a {bias:#x}")
                del self._shown[bias]
            for bias, path in list(self._wanted.items()):  # GDB's events may bring more meanwhile
                if bias not in self._shown:
                    _quietly(f'add-symbol-file "{path}" -o {bias:#x}')
                    self._shown[bias] = path


def _quietly(command):
    try:
        gdb.execute(command, to_string=True)
    except gdb.error:
        pass  # without them only frames inside our own code have no name
