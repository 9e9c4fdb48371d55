"""A guest that runs Debian's kernel, for the tests and the demo: fetched, packed, booted, and debugged by both debuggers."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "objcopy": "binutils"}
LONGEST = 900  # seconds of one session


class Skip(Exception):
    """Why nothing can be tried here."""


def fetch(folder):
    for program, package in NEEDED.items():
        if shutil.which(program) is None:
            raise Skip(f"{program} is missing (package {package})")
    done = subprocess.run([f"{HERE}/fetch", folder], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Skip(done.stdout.strip().removeprefix("SKIP: ") or f"fetch failed with {done.returncode}")
    with open(f"{folder}/release") as file:
        return file.read().strip()


def pack(folder, *files):
    """The guest's file system, with these files in /lib."""
    subprocess.run([f"{HERE}/initramfs", f"{folder}/initramfs.gz", *files], check=True)
    return f"{folder}/initramfs.gz"


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


class Guest:
    """Stopped before its first instruction."""

    def __init__(self, folder, *arguments, **environment):
        self.port = free_port()
        self.output = tempfile.TemporaryFile("w+")
        command = [f"{HERE}/boot", folder, f"{folder}/initramfs.gz", str(self.port), *arguments]
        self._qemu = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._qemu.kill()
        self._qemu.wait()

    def wait(self, seconds=120):
        try:
            self._qemu.wait(seconds)
        except subprocess.TimeoutExpired:
            pass

    def text(self):
        self.output.seek(0)
        return self.output.read()


class Debuggers:
    """The programs of a build, by name."""

    def __init__(self, build):
        self._build = os.path.abspath(build)
        with open(f"{build}/CMakeCache.txt") as cache:
            known = dict(re.findall(r"^REFHIST_(\w+)_PROGRAM:FILEPATH=(.+)$", cache.read(), re.MULTILINE))
        self._programs = {name.lower(): path for name, path in known.items() if os.path.exists(path)}

    def names(self):
        return [name for name in ("gdb", "lldb") if name in self._programs]

    def run(self, name, kernel, port, commands):
        """Connected before the guest's first instruction, with refhist loaded. What is on the screen."""
        # Without debug information: what LLDB makes of functions with a far cold part takes it minutes.
        vmlinux = f"{kernel}/vmlinux.boot"
        script = [self._in(name, line, port) for line in ("connect", "load", *commands)]
        with tempfile.NamedTemporaryFile("w", suffix=".script") as file:
            file.write("\n".join(script) + "\n")
            file.flush()
            if name == "gdb":
                command = [self._programs[name], "-nx", "-q", "-batch", "-ex", f"file {vmlinux}", "-x", file.name]
            else:
                command = [self._programs[name], "--no-lldbinit", "--no-use-colors", "-b", "-o", f"target create {vmlinux}", "-s", file.name]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST, check=False)
        return done.stdout

    def _in(self, name, line, port):
        """One line for both: refhist's own is the same."""
        lldb = name == "lldb"
        if line == "connect":
            return (
                f"settings set plugin.process.gdb-remote.packet-timeout 60\ngdb-remote {port}"
                if lldb
                else f"set pagination off\nset confirm off\ntarget remote :{port}"
            )
        if line == "load":
            return f"plugin load {self._build}/lldb_plugin/librefhist_lldb.so" if lldb else f"source {self._build}/gdb/refhist.py"
        if line.startswith("hbreak "):
            return f"breakpoint set -H -n {line.split()[1]}" if lldb else line
        if line == "delete":
            return "breakpoint delete -f" if lldb else line
        return line


def main(work):
    """Ends with 77 and the reason where nothing can be tried."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(work())
    except Skip as reason:
        print(f"SKIP: {reason}")
        sys.exit(77)
