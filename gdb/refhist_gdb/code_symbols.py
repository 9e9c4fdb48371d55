"""Symbols and call frame information of the code that the core has put into the program.

GDB does not survive that symbols change while it asks a breakpoint whether to stop: they are told to it at the
next stop that the user sees, or before the next command. Until then GDB reads the files.

At a breakpoint with several locations GDB would complain after each command ("location number not found") if symbols
changed while the program stands there: then they wait for another stop, unless a frame is in this code.
"""

import os

import gdb

from .elf import ElfFile

_MOST_FRAMES = 100


class CodeSymbols:
    def __init__(self):
        self._wanted = {}  # bias: path
        self._shown = {}
        self._at_one_of_many = False  # of a breakpoint's locations

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

    def stopped(self, event):
        self._at_one_of_many = any(_locations(breakpoint) > 1 for breakpoint in getattr(event, "breakpoints", ()))
        self.apply()

    def apply(self):
        if self._wanted == self._shown or (self._at_one_of_many and not self._stands_in_it()):
            return
        with gdb.with_parameter("confirm", False):
            for bias in [b for b, path in self._shown.items() if self._wanted.get(b) != path]:
                _quietly(f"remove-symbol-file -a {bias:#x}")
                _remove(self._shown.pop(bias))
            for bias, path in list(self._wanted.items()):  # GDB's events may bring more meanwhile
                if bias not in self._shown:
                    _quietly(f'add-symbol-file "{path}" -o {bias:#x}')
                    self._shown[bias] = path

    def _stands_in_it(self):
        ranges = [(bias, bias + _extent(path)) for bias, path in self._wanted.items()]
        try:
            frame, left = gdb.newest_frame(), _MOST_FRAMES
            while frame is not None and left:
                if any(begin <= frame.pc() < end for begin, end in ranges):
                    return True
                frame, left = frame.older(), left - 1
        except gdb.error:
            return True
        return False


def _locations(breakpoint):
    """GDB 13 tells them."""
    try:
        return len(breakpoint.locations) if breakpoint.is_valid() and breakpoint.visible else 0
    except (AttributeError, RuntimeError, gdb.error):
        return 0


def _extent(path):
    """The bytes of memory that the ELF file tells of."""
    try:
        return max((segment.address + segment.size for segment in ElfFile(path).segments), default=0)
    except (OSError, ValueError):
        return 0


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
