"""Compares what refhist recorded of struct thread in one run of perf with what callgrind counted in another.

Two numbers for each function: how often it was called (callgrind's calls; the hits of refhist's site), and how often it
changed the counter (callgrind's executions of its locked instruction; the events of refhist). They differ by the calls
with a null pointer. To both belong the executions of the instruction by which an inlined copy changes the counter. The
second also for each caller: is every event laid to the right function? Beside them: deaths, and the inlined copies that
refhist lists and does not arm; what those do must be what it reports as unobserved changes.
Ends with 0 only when all are equal.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

from callgrind_file import CallgrindFile, plain

FUNCTIONS = {"init": "thread__new", "get": "thread__get", "put": "thread__put"}
DESTRUCTOR = "thread__delete"
# Where the counter is changed when these are not inlined into the function.
COUNTER_FUNCTIONS = {"get": "refcount_inc", "put": "refcount_dec_and_test"}


def disassembly(perf, function):
    """[(address, instruction)]"""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", perf],
        check=True, capture_output=True, text=True,
    ).stdout
    found = re.findall(r"^ +([0-9a-f]+):\t(.*)$", text, re.MULTILINE)
    return [(int(address, 16), instruction) for address, instruction in found]


def counter_changes(callgrind, perf, role):
    """How often the function of this role changed the counter, by caller. Births: the constructor never failed."""
    function = FUNCTIONS[role]
    if role == "init":
        return callgrind.callers(function)
    changes = collections.Counter()
    locked = [address for address, instruction in disassembly(perf, function) if instruction.startswith("lock ")]
    for (object_file, name), at in callgrind.executed.items():
        if object_file == perf and plain(name) == function:
            changes[name.partition("'")[2]] += sum(at[address] for address in locked)
    for (caller, callee), count in callgrind.calls.items():
        if plain(caller) == function and callee == COUNTER_FUNCTIONS[role]:
            changes[caller.partition("'")[2]] += count
    return +changes


class Session:
    """The result file of perf_session.py."""

    def __init__(self, path):
        with open(path) as file:
            content = json.load(file)
        self.seconds = content["seconds"]
        self.sites = content["status"]["sites"]
        self.null_calls = sum(family["null_calls"] for family in content["status"]["families"])
        self.truncated = content["status"]["truncated_stacks"]
        self.states = collections.Counter(o["state"] for o in content["objects"])
        self.incomplete = sum(not o["complete"] for o in content["objects"])
        self.events = [e for o in content["objects"] for e in o["events"]]
        self.roles = collections.Counter(e["role"] for e in self.events)
        moved = (e for e in self.events if e["role"] == "unobserved")
        self.unobserved = sum(e["count_after"] - e["count_before"] for e in moved)

    def hits(self, function):
        return sum(s["hits"] for s in self.sites if s["probe"] == function and not s["why_not"])

    def callers(self, role):
        """Events of a role by the function that made the call; what is inlined there belongs to it."""
        callers = collections.Counter()
        for event in (e for e in self.events if e["role"] == role):
            callers[next((f["function"] for f in event["stack"][1:] if not f["inlined"]), "?")] += 1
        return callers

    def bias(self, perf):
        """Where perf was loaded."""
        get = FUNCTIONS["get"]
        armed = next(int(s["address"], 16) for s in self.sites
                     if s["probe"] == get and not s["why_not"] and not s["inlined"])
        return armed - disassembly(perf, get)[0][0]


class Comparison:
    """Prints rows and remembers whether all were equal."""

    def __init__(self):
        self.equal = True
        print(f"  {'':<44} {'callgrind':>9} {'refhist':>9}")

    def row(self, what, callgrind, refhist):
        same = callgrind == refhist
        self.equal = self.equal and same
        print(f"  {what:<44} {callgrind:>9} {refhist:>9}  {'equal' if same else 'DIFFERENT'}")

    def callers(self, role, callgrind, refhist):
        """One row for all callers; the ones that differ are listed."""
        different = sorted(c for c in set(callgrind) | set(refhist) if callgrind[c] != refhist[c])
        right = sum(1 for caller in callgrind if caller not in different)
        self.row(f"{role}: callers with the same number of events", len(callgrind), right)
        for caller in different:
            self.row(f"  {caller}", callgrind[caller], refhist[caller])


def inlined_changes(perf, callgrind, session):
    """{role: how often the inlined copies that are armed ran, by the function around}"""
    changes = {role: collections.Counter() for role in FUNCTIONS}
    bias = session.bias(perf)
    for site in session.sites:
        if not site["inlined"] or site["why_not"]:
            continue
        address = int(site["address"], 16) - bias
        around, times = function_at(perf, address), callgrind.executions(perf, address)
        changes[site["role"]][around] += times
        print(f"  {site['role']}: copy of {site['probe']} in {around}, armed: ran {times} times")
    return changes


def compare(options, callgrind, session):
    inlined = inlined_changes(options.perf, callgrind, session)
    comparison = Comparison()
    for role, function in FUNCTIONS.items():
        called = callgrind.calls_of(function) + inlined[role].total()
        comparison.row(f"{role}: calls of {function}", called, session.hits(function))
    changes = {role: counter_changes(callgrind, options.perf, role) for role in FUNCTIONS}
    for role in FUNCTIONS:
        changes[role] += inlined[role]
        comparison.row(f"{role}: changes of the counter", changes[role].total(), session.roles[role])
        comparison.callers(role, changes[role], session.callers(role))
    calls = sum(callgrind.calls_of(function) + inlined[role].total() for role, function in FUNCTIONS.items())
    changed = sum(by_caller.total() for by_caller in changes.values())
    comparison.row("calls with a null pointer", calls - changed, session.null_calls)
    comparison.row(f"deaths: calls of {DESTRUCTOR}", callgrind.calls_of(DESTRUCTOR), session.states["dead"])
    unarmed = net_change_unarmed(options.perf, callgrind, session)
    comparison.row("net change by them, unobserved changes", unarmed, session.unobserved)
    comparison.row("objects first seen in mid-life", 0, session.incomplete)
    comparison.row("stacks that end too early", 0, session.truncated)
    return comparison.equal


def function_at(perf, address):
    """The symbol whose code covers the address."""
    text = subprocess.run(["nm", "-S", "--defined-only", perf], check=True, capture_output=True, text=True).stdout
    for start, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (.*)$", text, re.MULTILINE):
        if int(start, 16) <= address < int(start, 16) + int(size, 16):
            return name
    return "?"


def net_change_unarmed(perf, callgrind, session):
    """Lists the copies that refhist did not arm. Returns by how much they changed the counters, as callgrind saw it.

    GCC splits a function and inlines the part back, into itself and into its copies. Such a part is no copy: inside the
    function it runs when the armed entry does, inside a copy it begins where the copy begins.
    """
    net = 0
    bias = session.bias(perf)
    places = {(int(s["address"], 16) - bias, s["role"], s["probe"]) for s in session.sites if s["why_not"]}
    for address, role, probe in sorted(places):
        around = function_at(perf, address)
        if around == probe:
            continue
        times = callgrind.executions(perf, address)
        net += {"get": times, "put": -times}.get(role, 0)
        print(f"  {role}: copy of {probe} in {around}, not armed: ran {times} times")
    return net


def print_seconds(session):
    for what, spent in session.seconds.items():
        print(f"  {what:<30} {spent['wall']:8.3f} s, processor time of the debugger {spent['processor']:8.3f} s")
    hits = max(1, sum(site["hits"] for site in session.sites))
    print(f"  {hits} hits: {session.seconds['run to the end']['wall'] / hits * 1e6:.0f} us of the whole run for each")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--perf", required=True, help="the program")
    parser.add_argument("--callgrind", required=True, help="what callgrind wrote")
    parser.add_argument("--session", required=True, help="what perf_session.py wrote")
    options = parser.parse_args()
    options.perf = os.path.realpath(options.perf)  # as callgrind names it
    session = Session(options.session)
    equal = compare(options, CallgrindFile(options.callgrind), session)
    print_seconds(session)
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
