"""Holds one thread of a debugger for a while, as a busy machine does."""

import contextlib
import ctypes
import glob
import os
import threading
import time

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # of waitpid: threads too


def _ptrace(request, tid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(ctypes.c_long(request), ctypes.c_long(tid), None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace of thread {tid}")


def thread_named(pid, name):
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        with open(path) as comm:
            if comm.read().strip() == name:
                return int(path.split("/")[4])
    raise LookupError(f"process {pid} has no thread {name}")


@contextlib.contextmanager
def held_thread(tid, seconds):
    """Within the block the thread does not run, before `seconds` have gone by."""
    stopped, failures = threading.Event(), []

    def hold():  # all ptrace requests come from one thread
        try:
            _ptrace(PTRACE_SEIZE, tid)
            _ptrace(PTRACE_INTERRUPT, tid)
            os.waitpid(tid, WALL)
            stopped.set()
            time.sleep(seconds)
            _ptrace(PTRACE_DETACH, tid)
        except OSError as error:
            failures.append(error)
            stopped.set()

    holder = threading.Thread(target=hold)
    holder.start()
    stopped.wait()
    yield
    holder.join()
    if failures:
        raise failures[0]
