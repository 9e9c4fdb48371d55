"""One run of a program in a debugger with refhist, and the processor time that each phase of it took: the debugger's and the
program's together."""

import ctypes
import json
import os
import re
import resource
import subprocess
import time

from growth_quantities import program_of, rules_of

TRACK = "--init obj_new --get obj_get --put obj_put --count refs"
RUN, REPORT, SAVE, OPEN = "run", "report", "save", "open"
PHASES = {
    RUN: "from the start of the program to its end, all its events in the history",
    REPORT: "refhist leaks and check",
    SAVE: "refhist save",
    OPEN: "refhist check of the saved file",
}
_HERE = os.path.dirname(os.path.abspath(__file__))
_SECONDS = 300
_PR_SET_CHILD_SUBREAPER = 36


def _commands(quantity, size, history):
    """(order, or phase that has ended)"""
    return [
        f"refhist track {TRACK}",
        *rules_of(quantity, size),
        ("mark", "start"), "run", "refhist status", ("mark", RUN),
        "refhist leaks", "refhist check --stay", ("mark", REPORT),
        f"refhist save {history}", ("mark", SAVE),
        "refhist status --json",
    ]


def _gdb(setup, commands, program):
    words = [f"source {setup.build}/gdb/refhist.py", f"source {_HERE}/growth_marker.py"]
    words += [f'python mark("{c[1]}")' if isinstance(c, tuple) else c for c in commands]
    return [setup.gdb, "-nx", "-q", "-batch", *(w for word in words for w in ("-ex", word)), "--args", *program]


def _lldb(setup, commands, program):
    words = [f"plugin load {setup.build}/lldb_plugin/librefhist_lldb.so", f"command script import {_HERE}/growth_marker.py"]
    words += [f'script growth_marker.mark("{c[1]}")' if isinstance(c, tuple) else c for c in commands]
    return [setup.lldb, "-x", "-b", *(w for word in words for w in ("-o", word)), "--", *program]


ARGV = {"GDB": _gdb, "LLDB": _lldb}


def _run(argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, DEBUGINFOD_URLS="", TERM="dumb"))
    return done.stdout, f"{' '.join(argv)}\n{done.stdout[-1500:]}{done.stderr[-1500:]}"


def _check(quantity, size, output, told):
    """Figures of a run that saw too little mean nothing."""
    found = re.search(r'\{\n  "schema".*', output, re.DOTALL)
    try:
        status = json.JSONDecoder().raw_decode(found.group())[0]
        totals, rules = status["totals"], len(status["rules"])
    except (AttributeError, ValueError, KeyError):
        raise RuntimeError(f"{told}\nit tells no totals") from None
    if rules != len(rules_of(quantity, size)):
        raise RuntimeError(f"{told}\n{rules} stop rules in place of {len(rules_of(quantity, size))}")
    if totals["events"] < quantity.events(size) or totals["lost_events"] != 0:
        raise RuntimeError(f"{told}\n{totals} where {quantity.events(size)} events were to be recorded")


def _in_debugger(setup, debugger, quantity, size, folder):
    history = f"{folder}/history.rh"
    if os.path.exists(history):
        os.remove(history)
    argv = ARGV[debugger](setup, _commands(quantity, size, history), program_of(setup, quantity, size, folder))
    output, told = _run(argv)
    marks = {phase: float(seconds) for phase, seconds in re.findall(r"^growth: (\w+) ([0-9.]+)$", output, re.MULTILINE)}
    if len(marks) != 4:
        raise RuntimeError(told)
    _check(quantity, size, output, told)
    seconds = {phase: marks[phase] - marks[before] for before, phase in zip(("start", RUN, REPORT), (RUN, REPORT, SAVE))}
    seconds[OPEN] = _children_of(lambda: _checked(setup, history))
    return seconds


def _checked(setup, history):
    output, told = _run([f"{setup.build}/bin/refhist", history, "check", "--fail-on", "none"])
    if "refhist check: " not in output:
        raise RuntimeError(told)


def _children_of(action):
    """Processor time of what the action starts and what that leaves behind."""
    def taken():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = taken()
    action()
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return taken() - before


def _with_children(setup, quantity, size, folder):
    argv = [f"{setup.build}/bin/refhist-run", "--children", "--fail-on", "none", "--allow-unarmed", "--track", TRACK,
            "--json", f"{folder}/session.json", "--", *program_of(setup, quantity, size, folder)]
    begin = time.monotonic()
    told = []
    seconds = _children_of(lambda: told.append(_run(argv)[1]))
    wall = time.monotonic() - begin
    with open(f"{folder}/session.json", encoding="utf-8") as file:
        followed = len(json.load(file)["children"])
    if followed != size:
        raise RuntimeError(f"{told[0]}\n{followed} children were followed, and not {size}")
    return {RUN: seconds, "wall": wall}


def measure(setup, debugger, quantity, size, folder):
    """{phase: seconds of processor time}"""
    if quantity.children:
        return _with_children(setup, quantity, size, folder)
    return _in_debugger(setup, debugger, quantity, size, folder)
