"""Sees dlopen and dlclose before GDB does.

GDB has a breakpoint at the function that the dynamic linker calls after it has mapped or unmapped a library.
When breakpoints of ours still lie in a library that is gone by then, GDB prints a warning about them. So the
core has to take them out before: internal breakpoints at the calls of that function, which are direct calls
inside the linker. Where there are none (static programs, other linkers), only the warning remains.
"""

import struct

import gdb

from . import abi, mappings
from .breakpoints import OurBreakpoint

_WORD = struct.Struct("<Q")
_CALL = struct.Struct("<Bi")
_CALL_OPCODE = 0xE8
_R_BRK, _R_STATE, _R_CONSISTENT = 16, 24, 0  # struct r_debug of <link.h>


class LinkMapWatch:
    def __init__(self, session):
        self._session = session
        self._breakpoints = []
        self._debug = None  # address of the linker's struct r_debug

    def place(self):
        """Does nothing when it is in place, and when the linker has not set itself up yet."""
        if self._breakpoints:
            return
        try:
            self._debug = int(gdb.parse_and_eval("(unsigned long)&_r_debug"))
            function = _word(self._debug + _R_BRK)
            calls = _calls(function) if function else []
        except gdb.error:
            return  # no dynamic linker, or one without these names
        self._breakpoints = [OurBreakpoint(address, self._called) for address in calls]

    def addresses(self):
        return [breakpoint.address for breakpoint in self._breakpoints]

    def remove(self):
        for breakpoint in self._breakpoints:
            if breakpoint.is_valid():
                breakpoint.delete()
        self._breakpoints = []

    def _called(self, _):
        """The linker is about to say that libraries come or go, or that they have."""
        try:
            if _word(self._debug + _R_STATE) & 0xFFFFFFFF == _R_CONSISTENT:
                self._session.notify(abi.NOTICE_MODULES)
        except BaseException as error:  # one that leaves stop() would stop the program
            self._session.tell_error(error)
        return False


def _word(address):
    return _WORD.unpack(gdb.selected_inferior().read_memory(address, _WORD.size))[0]


def _calls(function):
    """Addresses of the direct calls of `function` in its own mapping."""
    for region in mappings.regions():
        if region.begin <= function < region.end:
            code = bytes(gdb.selected_inferior().read_memory(region.begin, region.end - region.begin))
            return [region.begin + at for at in _direct_calls(code, function - region.begin)]
    return []


def _direct_calls(code, target):
    at = code.find(_CALL_OPCODE)
    while 0 <= at <= len(code) - _CALL.size:
        if at + _CALL.size + _CALL.unpack_from(code, at)[1] == target:
            yield at
        at = code.find(_CALL_OPCODE, at + 1)
