"""make install into a prefix, use what lies there, make uninstall: nothing is left.

usage: prefix.py SOURCE BUILD GDB [LLDB]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

_PLUGIN = "lib/refhist/lldb-{}/librefhist_lldb.so"


class Prefix:
    """A folder that refhist is installed in, beside other things."""

    def __init__(self, source, build, folder):
        self._script = os.path.join(source, "packaging", "prefix.py")
        self._build, self.folder = build, folder
        self._environment = {**os.environ, "HOME": folder + ".home", "TERM": "dumb", "DEBUGINFOD_URLS": ""}

    def run(self, *command, status=0):
        """What a command says. `bin/refhist` stands for the program below the prefix."""
        done = subprocess.run([os.path.join(self.folder, command[0]), *command[1:]], text=True, check=False, timeout=120,
                              env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != status:
            sys.exit(f"{' '.join(command)} ends with {done.returncode} instead of {status}:\n{done.stdout}")
        return done.stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, command, status=0):
        build = [self._build] if command == "install" else []
        return self.run("/usr/bin/python3", "-B", self._script, command, *build, self.folder, status=status)

    def files(self):
        return sorted(os.path.relpath(os.path.join(place, name), self.folder)
                      for place, folders, files in os.walk(self.folder) for name in (*folders, *files))


def wants(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{part!r} is not in\n{text}")


def check_programs(prefix, program):
    for name in ("refhist", "refhist-run"):
        wants(prefix.run(f"bin/{name}", "--version"), f"{name} 0.")
        wants(open(prefix.path(f"share/man/man1/{name}.1"), encoding="utf-8").read(), ".SH EXIT STATUS")
    saved = prefix.folder + ".rh"
    options = ("--track", "json_object", "--fail-on", "leak", "--save", saved)
    wants(prefix.run("bin/refhist-run", *options, "--", program, status=23), "missing put in conn_close")
    wants(prefix.run("bin/refhist", saved), "8 json_object leaked")
    os.remove(saved)


def check_gdb(prefix, gdb):
    for script in ("refhist.py", "start.py"):
        told = prefix.run(gdb, "-nx", "-batch", "-ex", f"source {prefix.path('share/refhist')}/{script}", "-ex", "refhist track json_object")
        wants(told, "tracking json_object")


def check_lldb(prefix, lldb, program):
    version = re.search(r"\d+", prefix.run(lldb, "--version"))[0]
    plugin = prefix.path(_PLUGIN.format(version))
    for line in (f'plugin load "{plugin}"', f'command script import "{os.path.dirname(plugin)}/refhist_lldb.py"'):
        wants(prefix.run(lldb, "--no-lldbinit", "-b", "-o", line, "-o", "refhist track json_object"), "tracking json_object")
    options = ("--debugger", "lldb", "--track", "json_object", "--fail-on", "leak")
    wants(prefix.run("bin/refhist-run", *options, "--", program, status=23), "missing put in conn_close")


def main(source, build, gdb, lldb=None):
    program = os.path.join(build, "tests", "demo", "json_client")
    folder = tempfile.mkdtemp(prefix="refhist prefix ")
    try:
        prefix = Prefix(source, build, folder)
        os.mkdir(prefix.path("bin"))
        with open(prefix.path("bin/theirs"), "w", encoding="utf-8") as file:
            file.write("somebody else's\n")
        before = prefix.files()
        wants(prefix.make("uninstall", status=1), "refhist is not installed below")
        prefix.make("install")
        installed = prefix.files()
        check_programs(prefix, program)
        check_gdb(prefix, gdb)
        if lldb:
            check_lldb(prefix, lldb, program)
        prefix.make("install")  # over the first one
        if extra := {name for name in prefix.files() if "__pycache__" not in name} ^ set(installed):
            sys.exit(f"a second installation is another one: {extra}")
        prefix.make("uninstall")
        if left := [name for name in prefix.files() if name not in before]:
            sys.exit(f"left below the prefix: {left}")
        if gone := [name for name in before if name not in prefix.files()]:
            sys.exit(f"it was not refhist's: {gone}")
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(folder + ".home", ignore_errors=True)


main(*sys.argv[1:])
