"""What is measured and where: the build, its version, this machine and its debuggers."""

import os
import platform
import re
import subprocess


def cached(build, variable):
    """A value of the CMake cache; "" when it is not set."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        values = [line.rstrip("\n").split("=", 1)[1] for line in cache if line.startswith(variable + ":")]
    return values[0] if values else ""


def not_installed(tool, package=""):
    return f"{tool} is not installed (package {package or tool})"


def load():
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def _first_line(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return re.search(r"model name\s*: (.*)", info.read()).group(1)


class Setup:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        if not os.path.exists(f"{self.build}/CMakeCache.txt"):
            raise SystemExit(f"{build} is no build folder: run `make bench`")
        self.gdb = cached(self.build, "REFHIST_GDB_PROGRAM")
        self.lldb = cached(self.build, "REFHIST_LLDB_PROGRAM")
        self.version = self._version()

    def machine(self):
        debuggers = [_first_line(self.gdb, "--version")] + ([_first_line(self.lldb, "--version")] if self.lldb else [])
        return f"{_processor()}, {os.cpu_count()} CPUs, Linux {platform.release()}, {', '.join(debuggers)}"

    def without_lldb(self, names):
        """{name: why it is left out} of what needs LLDB."""
        return {} if self.lldb else dict.fromkeys(names, "this build has no LLDB")

    def _git(self, *words):
        source = cached(self.build, "CMAKE_HOME_DIRECTORY")
        try:
            done = subprocess.run(["git", "-C", source, *words], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def _version(self):
        commit = self._git("rev-parse", "--short", "HEAD")
        told = f"refhist {cached(self.build, 'CMAKE_PROJECT_VERSION')}"
        if commit is None:
            return f"{told}, not built in a checkout"
        changed = self._git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
        return f"{told}, commit {commit}{' and changes' if changed else ''}"
