"""Uses session_extension, and tells which objects. usage: python_extension.py FOLDER-OF-THE-MODULE"""

import sys

sys.path.insert(0, sys.argv[1])

import session_extension


class Thing:
    pass


things = [Thing() for _ in range(3)]
for thing in things:
    session_extension.use(thing, 5)
    session_extension.keep(thing)
while session_extension.drop() > 1:
    pass
gets, puts = session_extension.counts()
print("gets", gets)
print("puts", puts)
for thing in things:  # but for this name and the argument
    print("object", hex(id(thing)), sys.getrefcount(thing) - 2, flush=True)
