"""Mutants of real programs: one wrong reference count each, in a program that somebody else wrote."""

import dataclasses
import os
import pathlib
import subprocess
import sys

import case as cases
import judge

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
sys.path.insert(0, str(PROGRAMS))
import mutate  # noqa: E402
from program import Program  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Mutant:
    """As case.Case: what is known of a program that is wrong."""
    known: dict
    objects = None  # as many as the workload makes

    name = property(lambda self: self.known["id"])
    theme = property(lambda self: self.known["program"])
    kind = property(lambda self: self.known["kind"])
    counts = property(lambda self: self.known["counts"])
    source = property(lambda self: self.known["file"])
    guilty = property(lambda self: frozenset(self.known["guilty"]))
    accepted = property(lambda self: frozenset(self.known["accepted"]))
    set_aside = property(lambda self: cases.is_set_aside(self.name))


def groups(is_wanted):
    """{program: its mutants}"""
    found = {}
    for known in mutate.load("mutants.toml").get("mutant", []):
        mutant = Mutant(known)
        if is_wanted(mutant):
            found.setdefault(mutant.theme, []).append(mutant)
    return found


def _tracking(entry):
    for name in entry["track"]:
        yield from ("--probes", str(PROGRAMS / name)) if name.endswith(".toml") else ("--track", name)


def _prepared(entry, build):
    """The program as its authors wrote it, built below the build folder; it stays there for the next time."""
    folder = pathlib.Path(build, "accuracy")
    folder.mkdir(exist_ok=True)
    # A tree for each program: two programs of one package are changed at the same time.
    fetched = subprocess.run([PROGRAMS / "fetch_source.sh", folder / entry["name"] / "source", entry["package"], entry["version"]],
                             capture_output=True, text=True, check=False)
    if fetched.returncode:
        raise cases.BadCase(f"{entry['name']}: {(fetched.stderr.strip().splitlines() or ['?'])[-1]}")
    program = Program(entry, pathlib.Path(fetched.stdout.strip()), folder / entry["name"] / "build")
    program.build.mkdir(exist_ok=True)
    mutate.revert(program.source)
    if program.shell(entry["build"]):
        raise cases.BadCase(f"{entry['name']} cannot be built")
    return program


def _session(program, workload, debugger, chosen):
    work = next(one for one in program.entry["workload"] if one["name"] == workload)
    program.prepare()
    with program.beside(work) as (command, cwd, env):
        return judge.run(chosen.runner, debugger, _tracking(program.entry), command, cwd, env)


def outcomes_of(name, group, chosen):
    """One outcome for each mutant and debugger. The right twin is the workload on the program as it was."""
    entry = mutate.program(name)
    try:
        program = _prepared(entry, chosen.build)
    except cases.BadCase as error:
        return [judge.Outcome(mutant, debugger, failed=str(error)) for mutant in group for debugger in chosen.debuggers]
    workloads = sorted({mutant.known["workload"] for mutant in group})
    right = {(workload, debugger): _session(program, workload, debugger, chosen)
             for workload in workloads for debugger in chosen.debuggers}
    return [outcome for mutant in group for outcome in _outcomes(mutant, program, right, chosen)]


def _outcomes(mutant, program, right, chosen):
    mutate.apply(mutant.name, program.source)
    try:
        if not program.replace(mutant.source):
            return [judge.Outcome(mutant, debugger, failed="does not compile") for debugger in chosen.debuggers]
    finally:
        mutate.revert(program.source)
    workload = mutant.known["workload"]
    return [judge.judge(mutant, debugger, _session(program, workload, debugger, chosen), right[workload, debugger])
            for debugger in chosen.debuggers]
