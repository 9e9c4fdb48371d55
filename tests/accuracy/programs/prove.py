#!/usr/bin/env python3
"""Makes mutants.toml: builds a program, counts which places its workloads reach, tries every mutant.

  prove.py PROGRAM SOURCE BUILD [--most N] [--build]

SOURCE is the unpacked Debian source; BUILD is a folder of the program's own, used for nothing else. A mutant is kept if
it compiles, if its place is reached with an object (natively counted by --probe's counters), and if the mutated
program ends the same way every time. The entries of the other programs in mutants.toml stay.
"""

import argparse
import collections
import hashlib
import pathlib
import sys
import tempfile

import mutate
from program import Program

SIGNALS_PER_PROGRAM = 0.1
RUNS = 3


def counted(run):
    """{workload: {file:place: times reached with an object}}, from a build with counters."""
    changed = mutate.probe(run.entry, run.source)
    hits = {}
    try:
        for file in changed:
            if not run.rebuild(file):
                sys.exit(f"the counters do not compile: {file}")
        run.prepare()
        for work in run.entry["workload"]:
            with tempfile.TemporaryDirectory() as folder:
                log = pathlib.Path(folder, "log")
                log.touch()
                log.chmod(0o666)
                status = run.workload(work, log)
                if status != work.get("exit", 0):
                    print(f"{work['name']}: {status} with counters", file=sys.stderr)
                hits[work["name"]] = collections.Counter(log.read_text().split())
    finally:
        for file in mutate.revert(run.source):
            run.rebuild(file)
    return hits


def reached(entry, hits, ident, key):
    """(workload, times) of one of the workloads that reach a place, always the same one; None if there is none."""
    found = [(work, hits[work["name"]][key]) for work in entry["workload"] if hits[work["name"]].get(key)]
    return found[int(hashlib.sha256(ident.encode()).hexdigest(), 16) % len(found)] if found else None


def wanted(entry, root, hits):
    """(id, file, operator, workload, times) of every mutant whose place is reached."""
    for ident, file, place, mutant in mutate.candidates(entry, root):
        found = reached(entry, hits, ident, f"{pathlib.Path(file).name}:{place}")
        if not found or (mutant.k is not None and found[1] < 2):
            continue
        if mutant.k is not None:
            ident += f"@{found[1] // 2}"
        if ident not in entry.get("leave_out", []):
            yield ident, file, mutant.operator, found[0], found[1]


def spread(items, most):
    """At most `most` of the mutants: operators in turn, places in an order that is mixed but always the same."""
    groups = collections.defaultdict(list)
    for item in sorted(items, key=lambda i: hashlib.sha256(i[0].encode()).hexdigest()):
        groups[item[2]].append(item)
    used, queue = collections.Counter(), sorted(groups)
    total = 0
    while total < most and any(groups.values()):
        for operator in queue:
            if groups[operator]:
                groups[operator].sort(key=lambda i: used[i[0].rsplit(":", 1)[0]])
                item = groups[operator].pop(0)
                used[item[0].rsplit(":", 1)[0]] += 1
                if (yield item):
                    total += 1


def repeated(run, work, signals):
    """The set of exit statuses of some runs, with and without address randomisation; stops when it is of no use."""
    seen = set()
    for fixed in [False, True] * RUNS:
        seen.add(run.workload(work, fixed=fixed))
        if len(seen) > 1 or "timeout" in seen or ("signal" in seen and not signals):
            break
    return seen


def tried(run, item, signals):
    """The finished entry of one mutant, or a reason why it is of no use."""
    ident, _, _, work, times = item
    known = mutate.apply(ident, run.source)
    try:
        if not run.replace(known["file"]):
            return "does not compile"
        run.prepare()
        seen = repeated(run, work, signals)
    finally:
        mutate.revert(run.source)
    if len(seen) != 1 or seen & {"timeout", "signal"} - ({"signal"} if signals else set()):
        return f"left out, it ends with: {seen}"
    return dict(known, program=run.entry["name"], workload=work["name"], hits=times, exit=seen.pop(),
                normal=work.get("exit", 0))


def table(mutant):
    """One [[mutant]] in TOML."""
    lines = ["[[mutant]]"]
    for key in ("id", "program", "workload", "operator", "kind", "counts", "file", "function"):
        lines.append(f'{key} = "{mutant[key]}"')
    lines.append(f"guilty = {mutant['guilty']}")
    lines.append(f"accepted = {mutant['accepted']}")
    lines.append(f"hits = {mutant['hits']}")
    if "exit" in mutant and mutant["exit"] != mutant.get("normal", 0):
        lines.append(f'exit = "{mutant["exit"]}"' if isinstance(mutant["exit"], str) else f"exit = {mutant['exit']}")
    return "\n".join(lines) + "\n"


def write(name, found):
    """Put the mutants of one program into mutants.toml."""
    order = [p["name"] for p in mutate.load("programs.toml")["program"]]
    kept = [m for m in mutate.load("mutants.toml").get("mutant", []) if m["program"] != name]
    everything = sorted(kept + found, key=lambda m: (order.index(m["program"]), m["file"], m["guilty"], m["id"]))
    head = "# Made by prove.py: the mutants that compile, are reached and end by themselves. `hits`: how often the\n" \
           "# workload reaches the place with an object. `exit` only where it differs from the workload's own.\nschema = 1\n\n"
    mutate.HERE.joinpath("mutants.toml").write_text(head + "\n".join(table(m) for m in everything))


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--build", action="store_true", dest="first", help="build first")
    args = parser.parse_args()
    run = Program(mutate.program(args.program), args.source.resolve(), args.build.resolve())
    run.build.mkdir(parents=True, exist_ok=True)
    if args.first and run.shell(run.entry["build"]):
        sys.exit("the build failed")
    hits = counted(run)
    found, signals = [], 0
    choice = spread(list(wanted(run.entry, run.source, hits)), args.most)
    item = next(choice, None)
    while item:
        result = tried(run, item, signals < args.most * SIGNALS_PER_PROGRAM)
        good = isinstance(result, dict)
        print(item[0], item[4], result["exit"] if good else result, flush=True)
        if good:
            signals += result["exit"] == "signal"
            found.append(result)
        try:
            item = choice.send(good)
        except StopIteration:
            item = None
    if run.dirty:
        run.rebuild(run.dirty)
    write(run.entry["name"], found)
    print(f"{len(found)} mutants, {signals} ended by a signal")


if __name__ == "__main__":
    main()
