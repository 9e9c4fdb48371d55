"""Puts right what GDB leaves behind when a second copy of the dynamic linker goes away.

A namespace of dlmopen lists the dynamic linker once more, at the same addresses. When the namespace is closed, GDB takes
the linker for unloaded: it counts its breakpoints in there as taken out, but their instructions stay in memory, and the
program dies of the first one that it runs into.
"""

import os

_BREAKPOINT = b"\xcc"


def is_linker(path):
    return os.path.basename(path).startswith("ld-")


def heal(pid, addresses):
    """The bytes of the file again where a breakpoint was left. Returns where that was, of `addresses`."""
    healed = []
    for begin, end, offset, path in _linker(pid):
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory, open(path, "rb") as file:
            for address in addresses:
                if not begin <= address < end:
                    continue
                memory.seek(address)
                if memory.read(1) != _BREAKPOINT:
                    continue
                healed.append(address)
                file.seek(address - begin + offset)
                memory.seek(address)
                memory.write(file.read(1))
    return healed


def _linker(pid):
    """(begin, end, offset in the file, path) of its code."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) == 6 and "x" in fields[1] and is_linker(fields[5].strip()):
                begin, end = (int(word, 16) for word in fields[0].split("-"))
                yield begin, end, int(fields[2], 16), fields[5].strip()
