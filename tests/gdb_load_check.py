#!/usr/bin/env python3
"""Loads refhist into GDB from incomplete and mismatched installations: one clear line each, no traceback.

usage: gdb_load_check.py GDB BUILD_TREE_GDB_FOLDER COMPILER
"""

import os
import shutil
import subprocess
import sys
import tempfile


class Checker:
    def __init__(self, gdb, folder, compiler, scratch):
        self.gdb = gdb
        self.folder = folder
        self.compiler = compiler
        self.scratch = scratch
        self.failures = 0

    def copy(self, name):
        """A copy of the Python part, without the library."""
        place = os.path.join(self.scratch, name)
        os.mkdir(place)
        for file in ("refhist.py", "start.py", "stand_ins.py", "help.txt"):
            shutil.copy(os.path.join(self.folder, file), place)
        shutil.copytree(
            os.path.join(self.folder, "refhist_gdb"),
            os.path.join(place, "refhist_gdb"),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        return place

    def library(self, place, source):
        path = os.path.join(place, "librefhist.so")
        command = [self.compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path]
        subprocess.run(command, input=source, text=True, check=True)

    def load(self, script, *before):
        return self.run(script, ("refhist help",), before)

    def run(self, script, commands, before=()):
        command = [self.gdb, "-nx", "-batch"]
        for line in before:
            command += ["-ex", line]
        command += ["-x", script, "-ex", "echo session goes on\\n"]
        for line in commands:
            command += ["-ex", line]
        environment = dict(os.environ, LC_ALL="C", PYTHONDONTWRITEBYTECODE="1")
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(command, env=environment, text=True, timeout=60, **streams).stdout

    def expect(self, what, output, *parts, absent=("Traceback",)):
        missing = [p for p in (*parts, "session goes on") if p not in output]
        present = [p for p in absent if p in output]
        if missing or present:
            self.failures += 1
            print(f"{what}: wants {missing}, does not want {present}, in:\n{output}")

    def expect_refused(self, what, output, *parts):
        self.expect(what, output, "refhist: not loaded: ", *parts)
        if output.count("refhist: ") != 1:
            self.failures += 1
            print(f"{what}: more than one line:\n{output}")


def check_start(checker, entry):
    """start.py: GDB knows the commands, and loads refhist when one is used."""
    start = os.path.join(checker.folder, "start.py")
    loaded = 'python import sys; gdb.write("loaded: " + str("refhist_gdb" in sys.modules) + "\\n")'
    help_before = checker.run(start, ("help refhist", "help break-on-leak", loaded))
    help_after = checker.run(entry, ("help refhist", "help break-on-leak", loaded))
    checker.expect("known from the start", help_before, "loaded: False", "refhist track", "refhist break-on-leak")
    if help_before.replace("False", "True") != help_after:
        checker.failures += 1
        print(f"help before and after refhist is loaded:\n{help_before}\n{help_after}")
    for command, answer in (
        ("refhist help track", "--probes FILE"),
        ("break-on-leak", "rule 1: break-on-leak"),
        ("complete refhist sta", "refhist status"),
        ("complete break-on-leak --rea", "break-on-leak --reachable"),
        ("set refhist keep live", ""),
        ("show refhist", "Families are read from"),
        ("set refhist families-folder /nowhere", "/nowhere is not a folder"),
        ("print $refhist_count(16)", "= -1"),
        ("print $refhist_count()", "takes one argument"),
        (f"source {entry}", ""),
    ):
        screen = checker.run(start, (command, loaded, "refhist help", command))
        checker.expect(f"{command}, the first one", screen, answer, "loaded: True", "refhist track", absent=("Traceback", "Error"))


def check_all(checker):
    entry = os.path.join(checker.folder, "refhist.py")
    checker.expect("as built", checker.load(entry), "refhist track")
    checker.expect("loaded twice", checker.load(entry, f"source {entry}"), "refhist track")

    check_start(checker, entry)

    for file in (entry, os.path.join(checker.folder, "start.py")):
        link, script = (os.path.join(checker.scratch, f"{kind}_{os.path.basename(file)}") for kind in ("link", "script"))
        os.symlink(file, link)
        checker.expect("through a link", checker.load(link), "refhist track")
        with open(script, "w", encoding="utf-8") as own:
            own.write(f"import gdb\ngdb.execute('source {file}')\n_load = _source = FOLDER = None\n")
        checker.expect("by a script of the user's", checker.load(script), "refhist track")

    without = 'python import sys; sys.modules["ctypes"] = None'
    checker.expect_refused("no ctypes", checker.load(entry, without), "no ctypes module")

    older = "python del gdb.BreakpointLocation"  # what refhist tells GDB 12 by
    checker.expect_refused("older GDB", checker.load(entry, older), "needs GDB 13")

    place = checker.copy("no-library")
    wanted = f"librefhist.so is neither in {place}"
    checker.expect_refused("no library", checker.load(place + "/refhist.py"), wanted)
    checker.expect_refused("no library, known from the start", checker.load(place + "/start.py"), wanted,
                           "refhist cannot be used in this GDB")

    place = checker.copy("other-version")
    checker.library(place, "int rh_abi_version(void) { return 4711; }")
    wanted = "has ABI version 4711, this front end needs "
    checker.expect_refused("other ABI version", checker.load(place + "/refhist.py"), wanted)

    place = checker.copy("other-library")
    checker.library(place, "int something_else(void) { return 1; }")
    checker.expect_refused("another library", checker.load(place + "/refhist.py"), "is not refhist's library")

    place = checker.copy("no-package")
    shutil.rmtree(place + "/refhist_gdb")
    checker.expect_refused("no package", checker.load(place + "/refhist.py"), "refhist_gdb is missing")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        checker = Checker(sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3], scratch)
        check_all(checker)
    print(f"{checker.failures} failures")
    sys.exit(1 if checker.failures else 0)


if __name__ == "__main__":
    main()
