"""A real program whose own code is mutated: built, changed, run."""

import contextlib
import os
import subprocess
import sys


class Program:
    """How a program of programs.toml is built, changed and run."""

    def __init__(self, entry, source, build):
        self.entry, self.source, self.build, self.dirty = entry, source, build, None
        more = {name: self.expand(value) for name, value in entry.get("env", {}).items()}
        self.env = dict(os.environ, SOURCE=str(source), BUILD=str(build), LC_ALL="C", **more)

    def shell(self, snippet, **more):
        """Run a snippet of programs.toml; returns its exit status."""
        done = subprocess.run(["sh", "-euc", snippet], cwd=self.build, env=dict(self.env, **more),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            print(done.stdout[-1500:], file=sys.stderr)
        return done.returncode

    def replace(self, file):
        """Build a mutated file, and the file of the mutant before as it was."""
        if self.dirty and self.dirty != file:
            self.rebuild(self.dirty)
        self.dirty = file
        return self.rebuild(file)

    def rebuild(self, file):
        """Build again after one file changed."""
        return self.shell(self.entry["rebuild"], FILE=file) == 0

    def prepare(self):
        """What the workloads need."""
        if self.entry.get("prepare"):
            self.shell(self.entry["prepare"])

    def workload(self, work, log=None, fixed=False, seconds=8):
        """Run a workload once: its exit status, `signal`, or `timeout`."""
        with self.beside(work) as (argv, cwd, env):
            if log:
                env["REFMUTANT_LOG"] = str(log)
            try:
                done = subprocess.run((["setarch", "-R"] if fixed else []) + argv, cwd=cwd, env=env,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      timeout=seconds)
                return "signal" if done.returncode < 0 or done.returncode in (134, 139) else done.returncode
            except subprocess.TimeoutExpired:
                return "timeout"

    @contextlib.contextmanager
    def beside(self, work):
        """(argv, cwd, env) of a workload, while what has to run beside it runs."""
        env = dict(self.env, **{name: self.expand(value) for name, value in work.get("env", {}).items()})
        if work.get("before"):
            self.shell(work["before"])
        feed = subprocess.Popen(["sh", "-c", work["feed"]], cwd=self.build, env=env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) if work.get("feed") else None
        try:
            yield [self.expand(word) for word in work["argv"]], self.build / work.get("cwd", "."), env
        finally:
            if feed:
                feed.wait()

    def expand(self, text):
        """$SOURCE and $BUILD."""
        return text.replace("$SOURCE", str(self.source)).replace("$BUILD", str(self.build))
