"""A case of the corpus: one source that -DBUG makes wrong, and what is known of it (README.md has the form)."""

import dataclasses
import hashlib
import os
import re
import shlex
import shutil
import subprocess

KINDS = ("missing-put", "overwritten", "extra-put", "missing-get", "late-get", "second-owner", "cycle", "held", "use-after-put")
COUNTS = ("surplus", "deficit", "none")
_KEYS = {"summary", "kind", "counts", "objects", "track", "packages", "libs", "build", "exit", "source"}
_NEEDED = ("summary", "kind", "counts", "objects", "track", "build")
_KEY = re.compile(r"^\s*(?:/\*|\*|//)?\s*([a-z]+):\s*(.*?)\s*(?:\*/)?$")
_MARK = re.compile(r"(?:/\*|//)\s*(GUILTY|ACCEPTED)\b")
_SET_ASIDE = 10  # one of ten


class BadCase(Exception):
    """What is wrong with a case's file, in one line."""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    source: str
    known: dict
    guilty: frozenset  # lines
    accepted: frozenset  # lines that contain the place too, or that a maintainer would accept

    @property
    def kind(self):
        return self.known["kind"]

    @property
    def counts(self):
        return self.known["counts"]

    @property
    def objects(self):
        return int(self.known["objects"])

    @property
    def theme(self):
        return os.path.basename(os.path.dirname(self.source))

    @property
    def set_aside(self):
        return is_set_aside(self.name)

    def tracking(self):
        if self.known["track"] == "own":
            return ["--probes", os.path.splitext(self.source)[0] + ".toml"]
        if self.known["track"] == "auto":
            return []
        return [word for family in self.known["track"].split() for word in ("--track", family)]

    def compile(self, folder, wrong, options=None, lines=False):
        """Builds the wrong program or its right twin into `folder`. `options` are in place of the case's own -O, -g and -f….
        `lines`: with debug information, whatever these say."""
        words = shlex.split(self.known["build"])
        words[0] = _compiler(words[0])
        if options is not None:
            words = [word for word in words if not re.match(r"-(O|g|flto)", word)] + shlex.split(options)
        program = os.path.join(folder, self.name + (".wrong" if wrong else ".right") + (".lines" if lines else ""))
        command = [*words, *(["-g"] if lines else []), *(["-DBUG"] if wrong else []), "-w", "-o", program, self.source]
        if self.known.get("packages"):
            command += _package_options(self.name, self.known["packages"].split())
        command += shlex.split(self.known.get("libs", ""))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise BadCase(f"{self.name}: {shlex.join(command)}: {done.stderr.strip().splitlines()[:1]}")
        return program


def _package_options(name, packages):
    told = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], capture_output=True, text=True)
    if told.returncode:
        raise BadCase(f"{name}: pkg-config does not know {' '.join(packages)}: tests/install.sh accuracy")
    return told.stdout.split()


def _compiler(name):
    """A case names the compiler of its author: clang-14 is another one where Debian has another."""
    plain = name.rsplit("-", 1)[0]
    for candidate in (name, plain):
        if shutil.which(candidate):
            return candidate
    raise BadCase(f"{name} is not installed: tests/install.sh accuracy")


def is_set_aside(name):
    """One of ten is looked at only in the sum: nothing is tuned to it. By its name, so that it stays what it is."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _SET_ASIDE == 0


def read(path):
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    known = _header(name, lines)
    marks = _marks(lines)
    if not marks["GUILTY"]:
        raise BadCase(f"{name}: no line is marked GUILTY")
    return Case(name, path, known, frozenset(marks["GUILTY"]), frozenset(marks["ACCEPTED"]))


def _header(name, lines):
    known = {}
    for line in lines:
        found = _KEY.match(line)
        if found and found[1] in _KEYS:
            known.setdefault(found[1], found[2])
        if "*/" in line or not re.match(r"\s*(/\*|\*|//)", line):
            break
    missing = [key for key in _NEEDED if not known.get(key)]
    if missing:
        raise BadCase(f"{name}: the first comment does not say {', '.join(missing)}")
    if known["kind"] not in KINDS or known["counts"] not in COUNTS:
        raise BadCase(f"{name}: kind is one of {', '.join(KINDS)}; counts one of {', '.join(COUNTS)}")
    return known


def _marks(lines):
    """Lines of the marked statements: a statement that goes over several lines is one place."""
    marks = {"GUILTY": set(), "ACCEPTED": set()}
    for index, line in enumerate(lines):
        found = _MARK.search(line)
        if found:
            marks[found[1]].update(number + 1 for number in _statement(lines, index))
    return marks


def _code(line):
    return re.sub(r"/\*.*?\*/|//.*", "", line).strip()


def _ends_statement(line):
    code = _code(line)
    return not code or code[-1] in ";{}:" or code.startswith("#")


def _statement(lines, index):
    first = index
    while first > 0 and _code(lines[index]) and not _ends_statement(lines[first - 1]):
        first -= 1
    last = index
    while last + 1 < len(lines) and not _ends_statement(lines[last]):
        last += 1
    return range(first, last + 1)


def read_all(folder):
    paths = sorted(os.path.join(place, file) for place, _, files in os.walk(folder) for file in files
                   if file.endswith((".c", ".cpp")))
    cases = [read(path) for path in paths]
    names = [case.name for case in cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadCase(f"two cases are named {twice[0]}")
    return cases
