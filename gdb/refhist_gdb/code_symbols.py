"""Symbols and call frame information of the code that the core has put into the program.

GDB does not survive that symbols change while it asks a breakpoint whether to stop: they are told to it at the
next stop that the user sees, or before the next command. Until then GDB reads the files.
"""

import os

import gdb


class CodeSymbols:
    def __init__(self):
        self._wanted = {}  # bias: path
        self._shown = {}

    def show(self, path, bias):
        self._drop(bias)
        if path:
            self._wanted[bias] = path

    def forget(self):
        """The process is gone, and its code with it."""
        for bias in list(self._wanted):
            self._drop(bias)

    def _drop(self, bias):
        path = self._wanted.pop(bias, None)
        if path and self._shown.get(bias) != path:
            _remove(path)

    def apply(self):
        if self._wanted == self._shown:
            return
        with gdb.with_parameter("confirm", False):
            for bias in [b for b, path in self._shown.items() if self._wanted.get(b) != path]:
                _quietly(f"remove-symbol-file -a {bias:#x}")
                _remove(self._shown.pop(bias))
            for bias, path in list(self._wanted.items()):  # GDB's events may bring more meanwhile
                if bias not in self._shown:
                    _quietly(f'add-symbol-file "{path}" -o {bias:#x}')
                    self._shown[bias] = path


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass  # it is removed when GDB ends


def _quietly(command):
    try:
        gdb.execute(command, to_string=True)
    except gdb.error:
        pass  # without them only frames inside our own code have no name
