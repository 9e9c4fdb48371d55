#!/usr/bin/env python3
"""From nothing to the life of an object in Debian's kernel, in both debuggers. usage: demo.py BUILD FOLDER"""

import sys

import guest

# A breakpoint of the debugger's own at each end of what is watched.
SESSION = [
    "hbreak __x64_sys_sethostname",
    "continue",
    "refhist status",
    "refhist track file slab:filp",
    "refhist snapshot before",
    "continue",
    "refhist objects",
    "refhist diff",
    "refhist break-on-put-to-zero --family file",
    "continue",
    "refhist objects --family file",
]


def main():
    build, folder = sys.argv[1:3]
    guest.fetch(folder)
    guest.pack(folder)
    debuggers = guest.Debuggers(build)
    for name in debuggers.names():
        print(f"\n=== {name}")
        with guest.Guest(folder, "work=1", "hold") as running:
            print(debuggers.run(name, folder, running.port, SESSION))
    return 0


guest.main(main)
