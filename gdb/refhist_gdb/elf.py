"""The few facts of an ELF file that tell where it was loaded."""

import collections
import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PT_LOAD = 1

Segment = collections.namedtuple("Segment", "address size offset rights")


class ElfFile:
    """A 64-bit little-endian ELF file. Raises OSError or ValueError when it is none."""

    def __init__(self, path):
        with open(path, "rb") as file:
            header = file.read(_HEADER.size)
            if len(header) < _HEADER.size or header[:6] != b"\x7fELF\x02\x01":
                raise ValueError(f"{path} is not a 64-bit ELF file")
            fields = _HEADER.unpack(header)
            self.entry = fields[4]
            self.segments = self._segments(file, *_pick(fields, 5, 9, 10))
            self._sections = self._read(file, _SECTION, *_pick(fields, 6, 11, 12))
            self._names = self._section_names(file, fields[13])

    @staticmethod
    def _read(file, shape, offset, size, count):
        file.seek(offset)
        table = file.read(size * count)
        starts = range(0, len(table) - shape.size + 1, size) if size else ()
        return [shape.unpack_from(table, at) for at in starts]

    def _segments(self, file, offset, size, count):
        headers = self._read(file, _PROGRAM, offset, size, count)
        return [Segment(h[3], h[6], h[2], h[1] & 7) for h in headers if h[0] == _PT_LOAD]

    def _section_names(self, file, index):
        if index >= len(self._sections):
            return b""
        _, _, _, _, offset, size = self._sections[index][:6]
        file.seek(offset)
        return file.read(size)

    @property
    def first_address(self):
        """Where the first page of the file wants to be."""
        return self.segments[0].address & ~0xFFF if self.segments else 0

    def section_address(self, name):
        for section in self._sections:
            end = self._names.find(b"\0", section[0])
            if self._names[section[0] : end] == name.encode():
                return section[3]
        return None


def _pick(fields, *indices):
    return [fields[i] for i in indices]
