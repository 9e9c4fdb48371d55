#!/usr/bin/env python3
"""Writes what stand_ins.py shows as help before refhist is loaded. usage: write_help.py LIBREFHIST > help.txt"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "refhist_gdb"))
import abi  # noqa: E402: the signatures of the C ABI stand there


def main():
    library = abi.open_library(sys.argv[1])
    session = library.rh_session_new(None)
    verbs = library.rh_verbs(session).decode().split()
    for name in ["refhist", *(verb for verb in verbs if verb.startswith("break-on-"))]:
        verb = "" if name == "refhist" else name
        sys.stdout.write(f"{name}\n{library.rh_help(session, verb.encode()).decode().rstrip()}\f")


main()
