"""What the agent is compared with: each runs the same program and makes something of every get and put."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

from setup import not_installed

NATIVE = "native"
AGENT = "refhist, agent"
WITH_RULES = "refhist, agent, stop rules on imbalance and put to zero"
IN_LLDB = "refhist, agent, in LLDB"
INTERPOSER = "LD_PRELOAD interposer, no stack"
UPROBES = "uprobes (bpftrace), 32 frames"
UFTRACE = "uftrace, no stack"
MEMCHECK = "valgrind memcheck"
HEAPTRACK = "heaptrack"
BY_HAND_IN_GDB = "GDB Python breakpoints, no stack"
BY_HAND_IN_LLDB = "LLDB C++ callbacks, no stack"

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


def native(events):
    return Subject(NATIVE, ["env"], events)


def refhist_in_gdb(setup, events, title=AGENT, *more):
    """`more`: commands before the run."""
    commands = (f"source {setup.build}/gdb/refhist.py", _ALLOCATORS, _TRACK, *more)
    return Subject(title, _gdb(setup.gdb, *commands), events, events_told=True)


def refhist_with_rules(setup, events):
    return refhist_in_gdb(setup, events, WITH_RULES, "refhist break-on-imbalance", "refhist break-on-put-to-zero")


def left_out(setup):
    """{subject: why it cannot run here}"""
    missing = setup.without_lldb([IN_LLDB, BY_HAND_IN_LLDB])
    for title, tool in ((UFTRACE, "uftrace"), (MEMCHECK, "valgrind"), (HEAPTRACK, "heaptrack")):
        if not shutil.which(tool):
            missing[title] = not_installed(tool)
    why = _why_no_uprobes()
    return {**missing, UPROBES: why} if why else missing


def _why_no_uprobes():
    if not shutil.which("bpftrace"):
        return not_installed("bpftrace")
    if not os.path.exists("/sys/kernel/tracing/uprobe_events"):
        with open("/proc/filesystems", encoding="ascii") as known:
            mountable = "tracefs" in known.read().split()
        return "first run `mount -t tracefs nodev /sys/kernel/tracing`" if mountable else "this kernel has no uprobes"
    if subprocess.run(["bpftrace", "-q", "-e", "BEGIN { exit() }"], capture_output=True, check=False).returncode != 0:
        return "bpftrace is not permitted here"
    return ""


def memcheck():
    return Subject(MEMCHECK, ["valgrind", "-q"], 200_000)


def heap_subjects(setup, events):
    """Who follows malloc and free."""
    commands = (f"source {setup.build}/gdb/refhist.py", _TRACK)
    output = os.path.join(tempfile.gettempdir(), "refhist-bench-heaptrack")
    return [native(events), Subject(AGENT, _gdb(setup.gdb, *commands), events, events_told=True),
            Subject(HEAPTRACK, ["heaptrack", "-o", output], events), memcheck()]


def refhist_in_lldb(setup, events):
    commands = (f"plugin load {setup.build}/lldb_plugin/librefhist_lldb.so", _ALLOCATORS, _TRACK, "run", _STATUS)
    argv = [setup.lldb, "-x", "-b", *(word for command in commands for word in ("-o", command)), "--"]
    return Subject(IN_LLDB, argv, events, events_told=True)


def by_hand_in_gdb(setup):
    place = "python [Naive(function) for function in ('*conn_get', '*conn_put')]"
    commands = (f"source {_HERE}/naive_gdb.py", "tbreak main", "run", place, "continue")
    argv = [setup.gdb, "-nx", "-q", "-batch", *(word for command in commands for word in ("-ex", command)), "--args"]
    return Subject(BY_HAND_IN_GDB, argv, 1000)


def by_hand_in_lldb(setup):
    commands = ("settings set target.skip-prologue false", f"plugin load {setup.build}/tests/bench/libbench_naive_lldb.so",
                "naive record", "run")
    argv = [setup.lldb, "-x", "-b", *(word for command in commands for word in ("-o", command)), "--"]
    return Subject(BY_HAND_IN_LLDB, argv, 1000)


def interposer(setup, events):
    preloaded = {"LD_PRELOAD": f"{setup.build}/tests/bench/libbench_agent_interposer.so"}
    return Subject(INTERPOSER, ["env"], events, preloaded)


def uprobes(setup):
    library = f"{setup.build}/tests/bench/libbench_agent_library.so"
    probes = f"uprobe:{library}:conn_get, uprobe:{library}:conn_put"
    script = f"{probes} {{ @[arg0, ustack(32)] = count(); @all = count(); }} END {{ clear(@); }}"
    return QuotedSubject(UPROBES, ["bpftrace", "-q", "-e", script, "-c"], 20_000, events_told=True)


def uftrace():
    folder = os.path.join(tempfile.gettempdir(), "refhist-bench-uftrace")
    return Subject(UFTRACE, ["uftrace", "record", "--force", "--no-pager", "-d", folder, "-P", "conn_*@libbench_agent_library.so"],
                   200_000)


class QuotedSubject(Subject):
    """For bpftrace, which takes the command as one word. The kernel does not say where it places no probe."""

    def command(self, program, load):
        return [*self.argv, " ".join([program, *load.arguments(self.events)])]

    def _check_told(self, output, load):
        if f"@all: {self.events * load.threads}\n" not in output:
            raise RuntimeError(f"{self.title}: not all events were seen: {output[-200:]}")
