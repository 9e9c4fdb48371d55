"""What the agent is compared with: each runs the same program and makes something of every get and put."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

_HERE = os.path.dirname(os.path.abspath(__file__))
_TRACK = "refhist track --backend auto --init conn_new --get conn_get --put conn_put --count refs"
_ALLOCATORS = "refhist set allocators off"
_STATUS = "refhist status --json"


@dataclass
class Load:
    """One way to call agent_program. `chains`: different stacks; `objects`: live at the same time."""

    frames: int = 32
    chains: int = 1
    threads: int = 1
    objects: int = 1000
    shared: bool = False
    heap: bool = False  # malloc and free in place of get and put

    def arguments(self, events):
        who = "heap" if self.heap else "shared" if self.shared else "own"
        return [str(v) for v in (events, self.frames, self.chains, self.threads, self.objects, who)]


@dataclass
class Subject:
    title: str
    argv: list  # the program and its arguments are appended
    events: int  # of each thread: few where each costs much
    environment: dict = field(default_factory=dict)
    events_told: bool = False  # the output has the JSON of refhist status, with the number of events

    def command(self, program, load):
        return [*self.argv, program, *load.arguments(self.events)]

    def run(self, program, load):
        """Nanoseconds per event as the program has measured them."""
        environment = dict(os.environ, **self.environment)
        command = self.command(program, load)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
        found = re.search(r"\bns ([0-9.]+)", done.stdout)
        if found is None:
            raise RuntimeError(f"{self.title}: {(done.stderr or done.stdout)[-400:]}")
        if self.events_told:
            self._check_told(done.stdout, load)
        return float(found.group(1))

    def _check_told(self, output, load):
        told = json.loads(output[output.index('{\n  "schema"') :])
        totals = told["totals"]
        if load.heap:
            calls = min(site["hits"] for site in told["sites"] if site["probe"] in ("malloc", "free"))
            if calls < self.events // 2 or totals["lost_events"] != 0:
                raise RuntimeError(f"{self.title}: {totals}, {calls} calls of malloc or free instead of {self.events // 2}")
            return
        objects = load.objects if load.shared else load.objects * load.threads
        expected = self.events * load.threads + objects
        if (totals["events"], totals["lost_events"]) != (expected, 0):
            raise RuntimeError(f"{self.title}: {totals} instead of {expected} events")


def _gdb(gdb, *commands):
    return [gdb, "-nx", "-q", "-batch", *(w for c in (*commands, "run", _STATUS) for w in ("-ex", c)), "--args"]


def refhist_in_gdb(build, gdb, title="refhist, agent", *more, events=2_000_000):
    """`more`: commands before the run."""
    return Subject(title, _gdb(gdb, f"source {build}/gdb/refhist.py", _ALLOCATORS, _TRACK, *more), events, events_told=True)


def _add_installed(subjects, missing, subject):
    tool = subject.argv[0]
    if shutil.which(tool):
        subjects.append(subject)
    else:
        missing.append(f"{tool}: not installed")


def _memcheck():
    return Subject("valgrind memcheck", ["valgrind", "-q"], 200_000)


def heap_subjects(build, gdb, events):
    """Who follows malloc and free; and what is missing."""
    commands = (f"source {build}/gdb/refhist.py", _TRACK)
    subjects = [Subject("native", ["env"], events),
                Subject("refhist, agent", _gdb(gdb, *commands), events, events_told=True)]
    missing = []
    output = os.path.join(tempfile.gettempdir(), "refhist-bench-heaptrack")
    _add_installed(subjects, missing, Subject("heaptrack", ["heaptrack", "-o", output], events))
    _add_installed(subjects, missing, _memcheck())
    return subjects, missing


def refhist_in_lldb(build, lldb):
    commands = (f"plugin load {build}/lldb_plugin/librefhist_lldb.so", _ALLOCATORS, _TRACK, "run", _STATUS)
    argv = [lldb, "-x", "-b", *(word for command in commands for word in ("-o", command)), "--"]
    return Subject("refhist, agent, in LLDB", argv, 2_000_000, events_told=True)


def by_hand_in_gdb(gdb):
    place = "python [Naive(function) for function in ('*conn_get', '*conn_put')]"
    commands = (f"source {_HERE}/naive_gdb.py", "tbreak main", "run", place, "continue")
    argv = [gdb, "-nx", "-q", "-batch", *(word for command in commands for word in ("-ex", command)), "--args"]
    return Subject("GDB Python breakpoints, no stack", argv, 1000)


def by_hand_in_lldb(build, lldb):
    commands = ("settings set target.skip-prologue false", f"plugin load {build}/tests/bench/libbench_naive_lldb.so",
                "naive record", "run")
    argv = [lldb, "-x", "-b", *(word for command in commands for word in ("-o", command)), "--"]
    return Subject("LLDB C++ callbacks, no stack", argv, 1000)


def others(build):
    """What else this machine has; and what it has not, with the reason."""
    library = "libbench_agent_library.so"
    interposer = {"LD_PRELOAD": f"{build}/tests/bench/libbench_agent_interposer.so"}
    subjects = [Subject("LD_PRELOAD interposer, no stack", ["env"], 2_000_000, interposer)]
    missing = []
    if not os.path.exists("/sys/kernel/tracing/uprobe_events"):
        missing.append("uprobes (bpftrace): this kernel has none")
    elif not shutil.which("bpftrace"):
        missing.append("uprobes (bpftrace): not installed")
    elif subprocess.run(["bpftrace", "-q", "-e", "BEGIN { exit() }"], capture_output=True, check=False).returncode != 0:
        missing.append("uprobes (bpftrace): not permitted here")
    else:
        probes = f"uprobe:{build}/tests/bench/{library}:conn_get, uprobe:{build}/tests/bench/{library}:conn_put"
        script = f"{probes} {{ @[arg0, ustack(32)] = count(); @all = count(); }} END {{ clear(@); }}"
        subjects.append(QuotedSubject("uprobes (bpftrace), 32 frames", ["bpftrace", "-q", "-e", script, "-c"], 20_000,
                                      events_told=True))
    folder = os.path.join(tempfile.gettempdir(), "refhist-bench-uftrace")
    argv = ["uftrace", "record", "--force", "--no-pager", "-d", folder, "-P", f"conn_*@{library}"]
    _add_installed(subjects, missing, Subject("uftrace, no stack", argv, 200_000))
    _add_installed(subjects, missing, _memcheck())
    return subjects, missing


class QuotedSubject(Subject):
    """For bpftrace, which takes the command as one word. The kernel does not say where it places no probe."""

    def command(self, program, load):
        return [*self.argv, " ".join([program, *load.arguments(self.events)])]

    def _check_told(self, output, load):
        if f"@all: {self.events * load.threads}\n" not in output:
            raise RuntimeError(f"{self.title}: not all events were seen: {output[-200:]}")
