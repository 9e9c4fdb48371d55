"""Takes and gives back references by the exported functions of CPython, and tells each call; os.getppid() is where the test stops it."""

import ctypes
import os
import sys

take = ctypes.pythonapi.Py_IncRef
give = ctypes.pythonapi.Py_DecRef
for function in (take, give):
    function.argtypes = [ctypes.c_void_p]  # an address: a py_object would be counted on its way into the call
    function.restype = None


def tell(role, thing):
    print(role, "PyObject", hex(id(thing)), flush=True)


def call(function, role, thing):
    tell(role, thing)
    function(id(thing))


def main():
    kept = [object(), ["a list"], {"a": "dict"}, "a text of its own " * 3, type("Thing", (), {})()]
    before = [sys.getrefcount(thing) for thing in kept]
    os.getppid()
    for _ in range(3):
        for thing in kept:
            call(take, "get", thing)
    for thing in kept:
        call(give, "put", thing)
    if sys.version_info >= (3, 12):
        print("immortal", hex(id(None)), flush=True)
    take(id(None))
    give(id(None))
    del thing  # a reference of its own
    after = [sys.getrefcount(thing) for thing in kept]
    print("changes", *(b - a for a, b in zip(before, after)), flush=True)
    os.getppid()


main()
