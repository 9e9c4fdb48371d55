"""The line of a place that refhist can only tell by its offset: the program has no debug information."""

import os
import subprocess


class Lines:
    """Of a program's wrong version. `compiled()` makes the same program with debug information: its code is the same."""

    def __init__(self, compiled):
        self._compiled = compiled
        self._program = None
        self._functions = {}

    def place(self, function, offset):
        """(name of the file, line) before the offset, as far as the call at which it ends; ("", 0) when it is not known. Of
        code that is inlined from a header of the system, where it was inlined."""
        self._read()
        if function not in self._functions:
            return "", 0
        before = self._functions[function] + offset - 1
        done = subprocess.run(["addr2line", "-i", "-e", self._program, hex(before)], capture_output=True, text=True, check=True)
        places = [place.split()[0].rpartition(":") for place in done.stdout.splitlines()]
        own = [place for place in places if not place[0].startswith("/usr/")]
        file, _, line = (own or places)[0]
        return (os.path.basename(file), int(line)) if line.isdigit() else ("", 0)

    def _read(self):
        if self._program is not None:
            return
        self._program = self._compiled()
        symbols = subprocess.run(["nm", "-C", "--defined-only", self._program], capture_output=True, text=True, check=True).stdout
        for symbol in symbols.splitlines():
            address, kind, name = symbol.split(" ", 2)
            if kind in "tTwW":
                self._functions[name] = int(address, 16)
