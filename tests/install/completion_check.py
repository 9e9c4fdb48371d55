"""Presses the tabulator in a bash that completes refhist-run and refhist: installed ones, or those of a build.

usage: completion_check.py [BUILD COMPLETION_FILE]
"""

import os
import pty
import re
import select
import sys
import tempfile
import time

_SECONDS = 20
_BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
_PROMPT = b"READY> "

# What is typed before the tabulator, and what bash makes of it. Two tabulators list what fits.
_CASES = [
    ("refhist-run --propa\t", "refhist-run --propagate-exit "),
    ("refhist-run --debugger l\t", "refhist-run --debugger lldb "),
    ("refhist-run --debugger=l\t", "refhist-run --debugger=lldb "),
    ("refhist-run --track json_ob\t", "refhist-run --track json_object "),
    ("refhist-run --fail-on leak,imb\t", "refhist-run --fail-on leak,imbalance "),
    ("refhist-run --set autos\t", "refhist-run --set autosave="),
    ("refhist-run --set keep=sus\t", "refhist-run --set keep=suspect "),
    ("refhist-run --json some_f\t", "refhist-run --json some_file.rh "),
    ("refhist-run --track=glib -- cat some_f\t", "refhist-run --track=glib -- cat some_file.rh "),
    ("refhist-run --k\t\t", "--keep"),
    ("refhist-run --send-history on\t", "refhist-run --send-history on-findings "),
    ("refhist fle\t", "refhist fleet "),
    ("refhist fleet fin\t", "refhist fleet findings "),
    ("refhist fleet since --bra\t", "refhist fleet since --branch "),
    ("refhist send some_f\t", "refhist send some_file.rh "),
    ("refhist some_f\t", "refhist some_file.rh "),
    ("refhist some_file.rh bal\t", "refhist some_file.rh balance "),
    ("refhist some_file.rh leaks --suppr\t", "refhist some_file.rh leaks --suppressions "),
    ("refhist some_file.rh leaks --suppressions some_f\t", "refhist some_file.rh leaks --suppressions some_file.rh "),
]


class Bash:
    def __init__(self, folder, environment):
        pid, self._terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        self._read_until(_PROMPT)
        self.run("bind 'set enable-bracketed-paste off'; bind 'set bell-style none'")
        self.run(f". {_BASH_COMPLETION}")

    def _read_until(self, wanted):
        seen, end = b"", time.monotonic() + _SECONDS
        while wanted not in seen and time.monotonic() < end:
            if select.select([self._terminal], [], [], 0.2)[0]:
                seen += os.read(self._terminal, 4096)
        return seen

    def run(self, line):
        os.write(self._terminal, line.encode() + b"\n")
        return self._read_until(b"\n" + _PROMPT)

    def press(self, keys, wanted):
        """What is on the screen once `wanted` is, or when there is no hope any more; the line is thrown away."""
        os.write(self._terminal, keys.encode())
        seen = self._read_until(wanted.encode())
        os.write(self._terminal, b"\x15\x0b\n")  # cuts the line before and behind the cursor
        self._read_until(b"\n" + _PROMPT)
        return seen.decode(errors="replace")


def main(build=None, completion=None):
    if not os.path.exists(_BASH_COMPLETION):
        print("skipped: there is no bash completion (Debian: the package bash-completion)")
        return
    failed = 0
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
        # Bash leaves its history in HOME, and refhist its cache: neither is to stay on the machine.
        environment = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", "PS1": _PROMPT.decode(),
                       "LC_ALL": "C.UTF-8", "COLUMNS": "200", "INPUTRC": os.devnull}
        if build is not None:
            environment["PATH"] = f"{build}/bin:{environment['PATH']}"
        open(os.path.join(folder, "some_file.rh"), "w", encoding="utf-8").close()
        bash = Bash(folder, environment)
        if completion is not None:
            bash.run(f". {completion}")
        for keys, wanted in _CASES:
            seen = bash.press(keys, wanted)
            if wanted not in re.sub(r"[\a\r]", "", seen):
                failed += 1
                print(f"{keys!r} has become {seen!r}, without {wanted!r}")
    sys.exit(1 if failed else 0)


main(*sys.argv[1:])
