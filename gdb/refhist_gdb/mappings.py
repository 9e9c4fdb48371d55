"""What is loaded where, for targets whose /proc the core cannot read: gdbserver, core files, bare stubs.

First choice is `info proc mappings`. A core file's own program headers tell the rights that it leaves out.
A target without mappings is described by the shared libraries that GDB knows and the executable's entry.
"""

import collections
import contextlib
import re

import gdb

from .elf import ElfFile

Region = collections.namedtuple("Region", "begin end rights offset path")  # rights: r 4, w 2, x 1

_MAPPING = re.compile(
    r"^ *0x([0-9a-f]+) +0x([0-9a-f]+) +0x[0-9a-f]+ +0x([0-9a-f]+)(?: +([r-][w-][x-])[ps-])? *(.*?) *$",
    re.MULTILINE,
)
_LIBRARY = re.compile(r"^0x([0-9a-f]+) +0x[0-9a-f]+ +(?:Yes|No)(?: \(\*\))? +(.+)$", re.MULTILINE)
_ENTRY = re.compile(r"Entry point: 0x([0-9a-f]+)")
_CORE_FILE = re.compile(r"Local core dump file:\s+`(.+)', file type")
_TARGET = "target:"


def plain_path(path):
    """GDB's name of a file without the prefix that says it was read through the target."""
    return path[len(_TARGET) :] if path.startswith(_TARGET) else path


def regions():
    mapped = _mapped()
    core = _CORE_FILE.search(_ask("info files"))
    if core:
        return _of_core_file(core.group(1), mapped)
    return mapped or [region for path, bias in modules() for region in _of_file(path, bias)]


def modules():
    """(path, load bias) of every ELF file that is mapped."""
    mapped = _mapped()
    if not mapped:
        return _known_to_gdb()
    code = {region.path for region in mapped if region.rights is None or region.rights & 1}
    found = []
    for region in mapped:
        if region.offset == 0 and region.path.startswith("/") and region.path in code:
            try:
                elf = _open(region.path)
            except ValueError:
                continue  # mapped data
            found.append((region.path, region.begin - (elf.first_address if elf else 0)))
    return found


def _ask(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error:
        return ""


def _open(path):
    """The file, from a local sysroot if there is one; None when it is not here. ValueError: it is no ELF."""
    sysroot = gdb.parameter("sysroot") or ""
    inside = path if sysroot.startswith(_TARGET) else sysroot + path
    for candidate in (inside, path):
        with contextlib.suppress(OSError):
            return ElfFile(candidate)
    return None


def _mapped():
    found = []
    for begin, end, offset, letters, path in _MAPPING.findall(_ask("info proc mappings")):
        rights = sum(bit for bit, letter in zip((4, 2, 1), letters) if letter != "-") if letters else None
        found.append(Region(int(begin, 16), int(end, 16), rights, int(offset, 16), path))
    return found


def _of_core_file(path, mapped):
    """Segments of the core file, named by the mappings that hold them."""
    core = _open(path)
    if core is None:
        return [region._replace(rights=4) for region in mapped]
    return [
        Region(s.address, s.address + s.size, s.rights, *_file_at(mapped, s.address))
        for s in core.segments
        if s.size
    ]


def _file_at(mapped, address):
    for region in mapped:
        if region.begin <= address < region.end:
            return region.offset + address - region.begin, region.path
    return 0, ""


def _of_file(path, bias):
    elf = _open(path)
    return [
        Region(bias + s.address, bias + s.address + s.size, s.rights, s.offset, path)
        for s in (elf.segments if elf else ())
    ]


def _known_to_gdb():
    found = []
    program = plain_path(gdb.current_progspace().filename or "")
    entry, elf = _ENTRY.search(_ask("info files")), _open(program) if program else None
    if entry and elf:
        found.append((program, int(entry.group(1), 16) - elf.entry))
    for start, path in _LIBRARY.findall(_ask("info sharedlibrary")):
        elf = _open(plain_path(path))
        text = elf.section_address(".text") if elf else None
        if text is not None:
            found.append((plain_path(path), int(start, 16) - text))
    return found
