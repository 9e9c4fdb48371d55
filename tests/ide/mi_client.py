"""A front end that speaks GDB/MI over a pair of files, with a watchdog. Records: `^done,...`, `*stopped,...`, ~"text"."""

import codecs
import os
import re
import select
import time


class MiClient:
    def __init__(self, reader, writer, seconds):
        """File descriptors of what GDB writes and reads."""
        self._reader, self._writer = reader, writer
        self._deadline = time.monotonic() + seconds
        self._unread = b""
        self.transcript = []

    def send(self, line):
        os.write(self._writer, line.encode() + b"\n")

    def command(self, line):
        """The result record, which must not be an error, of a command that does not run the program."""
        self.send(line)
        record = self.wait(r"\^(done|error|running)")
        assert not record.startswith("^error"), (line, record)
        return record

    def console(self, line):
        """Runs a command of GDB's console and returns what it prints."""
        start = len(self.transcript)
        self.command(f'-interpreter-exec console "{line}"')
        return self.printed(start)

    def printed(self, start=0):
        """The text of the console's stream records, from this record on."""
        texts = [line[2:-1] for line in self.transcript[start:] if line.startswith('~"')]
        return "".join(codecs.escape_decode(text.encode())[0].decode() for text in texts)

    def wait(self, pattern):
        """The next record that matches from its beginning on."""
        while True:
            line = self._line()
            self.transcript.append(line)
            if re.match(pattern, line):
                return line

    def _line(self):
        while b"\n" not in self._unread:
            ready = select.select([self._reader], [], [], max(0.0, self._deadline - time.monotonic()))[0]
            assert ready, "the watchdog ended the session"
            data = os.read(self._reader, 65536)
            assert data, "GDB has ended"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")
