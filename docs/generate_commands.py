"""Prints docs/commands.md from the command table in the library. usage: generate_commands.py LIBRARY [FILE]

With FILE: prints nothing, and exits with 1 when FILE is not what would be printed.
"""

import ctypes
import sys


def main(library, file=None):
    lib = ctypes.CDLL(library)
    lib.rh_session_new.argtypes, lib.rh_session_new.restype = [ctypes.c_char_p], ctypes.c_void_p
    lib.rh_verbs.argtypes, lib.rh_verbs.restype = [ctypes.c_void_p], ctypes.c_char_p
    lib.rh_help.argtypes, lib.rh_help.restype = [ctypes.c_void_p, ctypes.c_char_p], ctypes.c_char_p
    session = lib.rh_session_new(b"")
    text = (
        "# Commands\n\n"
        "Generated from the command table by `make docs`. The same in GDB and LLDB; in GDB the `break-on-…` verbs\n"
        "are commands of their own as well, and `set refhist NAME VALUE`, `show refhist` and `$refhist_count(ADDR)`\n"
        "(the count of the live object at an address, -1 when there is none) are there in GDB's manner.\n"
    )
    for verb in lib.rh_verbs(session).decode().split("\n"):
        if verb:
            text += f"\n## {verb}\n\n```\n{lib.rh_help(session, verb.encode()).decode()}```\n"
    if file is None:
        sys.stdout.write(text)
        return 0
    with open(file, encoding="utf-8") as current:
        if current.read() == text:
            return 0
    print(f"{file} is not what the command table says: make docs")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
