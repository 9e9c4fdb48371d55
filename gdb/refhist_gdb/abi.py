"""The C ABI of librefhist as ctypes sees it: every type and signature of refhist.h stands here and only here.

A test holds this file against the header. It imports nothing of GDB.
"""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

ABI_VERSION = 12
REGISTERS = 17

PROCESS_NONE, PROCESS_STOPPED, PROCESS_RUNNING, PROCESS_EXITED, PROCESS_CORE = range(5)

(
    NOTICE_STARTED,
    NOTICE_MODULES,
    NOTICE_STOPPED,
    NOTICE_EXITED,
    NOTICE_SIGNALLED,
    NOTICE_DETACHED,
    NOTICE_EXECUTED,
    NOTICE_BREAKPOINTS,
    NOTICE_LEAVING,
    NOTICE_QUITTING,
    NOTICE_HANDED_OVER,
) = range(11)

SINK = CFUNCTYPE(None, c_void_p, c_char_p, c_uint64, c_uint64, c_uint64, c_uint64)

CALLBACKS = {
    "process": CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int64), POINTER(c_int), SINK, c_void_p),
    "read_memory": CFUNCTYPE(c_int, c_uint64, c_void_p, c_size_t),
    "write_memory": CFUNCTYPE(c_int, c_uint64, c_void_p, c_size_t),
    "set_pc": CFUNCTYPE(c_int, c_int64, c_uint64),
    "set_registers": CFUNCTYPE(c_int, c_int64, POINTER(c_uint64)),
    "registers": CFUNCTYPE(c_int, c_int64, POINTER(c_uint64)),
    "vector_words": CFUNCTYPE(c_int, c_int64, SINK, c_void_p),
    "threads": CFUNCTYPE(c_int, SINK, c_void_p),
    "selected_thread": CFUNCTYPE(c_int, POINTER(c_int64)),
    "modules": CFUNCTYPE(c_int, SINK, c_void_p),
    "regions": CFUNCTYPE(c_int, SINK, c_void_p),
    "backtrace": CFUNCTYPE(c_int, c_int64, c_uint64, SINK, c_void_p),
    "place_breakpoint": CFUNCTYPE(c_int, c_uint64),
    "remove_breakpoint": CFUNCTYPE(c_int, c_uint64),
    "breakpoint_alive": CFUNCTYPE(c_int, c_uint64),
    "user_breakpoints": CFUNCTYPE(c_int, SINK, c_void_p),
    "show_code": CFUNCTYPE(c_int, c_char_p, c_uint64),
    "is_hit_again": CFUNCTYPE(c_int, c_uint64),
    "evaluate": CFUNCTYPE(c_int, c_char_p, POINTER(c_uint64), SINK, c_void_p),
    "print": CFUNCTYPE(None, c_char_p),
    "interrupted": CFUNCTYPE(c_int),
    "catch_raw_exit": CFUNCTYPE(c_int, c_int),
    "raw_exit_caught": CFUNCTYPE(c_int),
    "place_watchpoint": CFUNCTYPE(c_int, c_uint64, c_uint64, SINK, c_void_p),
    "remove_watchpoint": CFUNCTYPE(c_int, c_uint64),
    "watchpoint_alive": CFUNCTYPE(c_int, c_uint64),
    "expect_halts": CFUNCTYPE(c_int),
    "let_end": CFUNCTYPE(c_int, c_int64),
    "environment": CFUNCTYPE(c_int, c_char_p, SINK, c_void_p),
    "set_environment": CFUNCTYPE(c_int, c_char_p, c_char_p),
}


class RhPort(ctypes.Structure):
    _fields_ = [("name", c_char_p), *CALLBACKS.items()]


FUNCTIONS = {
    "rh_abi_version": (c_int, []),
    "rh_session_new": (c_void_p, [c_char_p]),
    "rh_session_free": (None, [c_void_p]),
    "rh_execute": (c_int, [c_void_p, POINTER(RhPort), c_char_p, POINTER(c_char_p), POINTER(c_int)]),
    "rh_hit": (c_int, [c_void_p, POINTER(RhPort), c_int64, c_uint64]),
    "rh_changed": (None, [c_void_p, POINTER(RhPort), c_int64, c_uint64]),
    "rh_raw_exit": (c_int, [c_void_p, POINTER(RhPort), c_int64, c_int]),
    "rh_stop_reason": (c_char_p, [c_void_p]),
    "rh_notify": (None, [c_void_p, POINTER(RhPort), c_int, c_int64]),
    "rh_complete": (c_char_p, [c_void_p, c_char_p]),
    "rh_tracking": (c_int, [c_void_p]),
    "rh_count_of": (c_int64, [c_void_p, c_uint64]),
    "rh_own_code": (c_int, [c_void_p, c_uint64, c_void_p, c_size_t]),
    "rh_verbs": (c_char_p, [c_void_p]),
    "rh_help": (c_char_p, [c_void_p, c_char_p]),
}


class AbiError(Exception):
    """The library cannot be used; the message is one line for the user."""


def open_library(path):
    """Loads librefhist and gives its functions their types. Raises AbiError."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise AbiError(f"cannot load {path}: {error}") from None
    try:
        version = library.rh_abi_version()
    except AttributeError:
        raise AbiError(f"{path} is not refhist's library: it has no rh_abi_version") from None
    if version != ABI_VERSION:
        raise AbiError(
            f"{path} has ABI version {version}, this front end needs {ABI_VERSION}; "
            "take refhist.py and the library from the same build"
        )
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
