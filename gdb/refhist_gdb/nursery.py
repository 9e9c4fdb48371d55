"""For `refhist-run --children`: a GDB that has loaded refhist and knows what to track before there is a child. The debugger of
each child is a fork of it, which takes a tenth of the time of a GDB that starts.

refhist-run orders one by a line of JSON through a named pipe: {"child", "script", "log"}. The fork tells it by the other one
(children.py):
  born CHILD DEBUGGER   this process runs the script
  unborn CHILD REASON   nobody does
"""

import gc
import json
import os

import gdb

from .children import _tell


def serve(orders, pipe):
    """In each fork it comes back when the script has run: then GDB ends, as at the end of every script."""
    gc.freeze()
    with open(orders, encoding="utf-8") as lines:
        for line in iter(lines.readline, ""):
            if _is_debugger(json.loads(line), pipe):
                return


def _is_debugger(order, pipe):
    _wait_for_ended()
    gdb.flush()
    try:
        if os.fork() != 0:
            return False
    except OSError as error:
        _tell(pipe, f"unborn {order['child']} {error}")
        return False
    os.setpgid(0, 0)
    _print_to(order["log"])
    _renew_pipes()
    _tell(pipe, f"born {order['child']} {os.getpid()}")
    gdb.execute(f"source {order['script']}")
    return True


def _wait_for_ended():
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue
    except ChildProcessError:
        pass


def _print_to(path):
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def _renew_pipes():
    """GDB wakes itself by pipes of which it has both ends: with those of another GDB it would wake that one."""
    ends = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            file = os.readlink(f"/proc/self/fd/{name}")
            with open(f"/proc/self/fdinfo/{name}", encoding="ascii") as info:
                flags = next(int(line.split()[1], 8) for line in info if line.startswith("flags:"))
        except OSError:  # the one of the list itself
            continue
        if file.startswith("pipe:"):
            ends.setdefault(file, {})[flags & os.O_ACCMODE] = int(name), flags
    for pipe in ends.values():
        if len(pipe) != 2:
            continue
        flags = pipe[os.O_RDONLY][1]
        for new, mode in zip(os.pipe2(flags & os.O_NONBLOCK), (os.O_RDONLY, os.O_WRONLY)):
            old, old_flags = pipe[mode]
            os.dup2(new, old, inheritable=not old_flags & os.O_CLOEXEC)
            os.close(new)
