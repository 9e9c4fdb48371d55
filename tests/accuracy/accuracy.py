"""`make accuracy`: how often refhist is right on programs whose mistakes are known. Prints the tables of docs/accuracy.md.

Each case of cases/ is built wrong and right, and both are run under refhist-run in each debugger; so are the mutants of
the real programs in programs/. One of ten is set aside: it counts in the sums alone, and is told by itself only with
--set-aside. The programs of rights/ are right, and count in unusual ways: none may be accused.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import case as cases
import judge
import mutants
import rights
import table
from lines import Lines

HERE = os.path.dirname(os.path.abspath(__file__))
_BEGIN, _END = "<!-- make accuracy -->", "<!-- end -->"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="a build folder")
    parser.add_argument("--debugger", nargs="+", choices=("gdb", "lldb"), default=["gdb", "lldb"], dest="debuggers")
    parser.add_argument("--what", nargs="+", choices=("cases", "mutants", "rights"), default=["cases", "mutants", "rights"])
    parser.add_argument("--only", nargs="+", metavar="WORD", help="what contains one of these in its theme and name")
    parser.add_argument("--explain", action="store_true", help="let refhist run what leaks a second time")
    parser.add_argument("--quarantine", default="auto", help="as for refhist-run (default: auto)")
    parser.add_argument("--options", metavar="OPTIONS", help="compile cases with these in place of their own -O, -g and -flto")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="sessions at a time (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write every outcome here")
    parser.add_argument("--write", metavar="PAGE", help="write the tables into this page, between its marks")
    parser.add_argument("--set-aside", action="store_true", help="tell what is set aside by name too")
    chosen = parser.parse_args()
    chosen.build = os.path.abspath(chosen.build)
    chosen.runner = [os.path.join(chosen.build, "bin", "refhist-run"), *(["--explain"] if chosen.explain else []),
                     "--quarantine", chosen.quarantine]
    return chosen


def wanted(words, one):
    return not words or any(word in f"{one.theme}/{one.name}" for word in words)


def outcomes_of(case, chosen, folder):
    """One outcome for each debugger."""
    try:
        programs = [case.compile(folder, wrong, chosen.options) for wrong in (True, False)]
    except cases.BadCase as error:
        return [judge.Outcome(case, debugger, failed=str(error)) for debugger in chosen.debuggers]
    lines = Lines(lambda: case.compile(folder, True, chosen.options, lines=True))
    return [judge.judge(case, debugger, *(judge.run(chosen.runner, debugger, case.tracking(), [program]) for program in programs), lines)
            for debugger in chosen.debuggers]


def work(chosen, folder):
    """What there is to do, as functions that return outcomes."""
    known = cases.read_all(os.path.join(HERE, "cases")) if "cases" in chosen.what else []
    todo = [lambda case=case: outcomes_of(case, chosen, folder) for case in known if wanted(chosen.only, case)]
    if "mutants" in chosen.what:
        groups = mutants.groups(lambda one: wanted(chosen.only, one))
        todo += [lambda name=name, group=group: mutants.outcomes_of(name, group, chosen) for name, group in groups.items()]
    return todo


def rights_report(chosen, folder, pool):
    """Empty when no right program is asked for."""
    known = rights.read_all(os.path.join(HERE, "rights")) if "rights" in chosen.what else []
    asked = [right for right in known if wanted(chosen.only, right)]
    told = [one for done in pool.map(lambda right: rights.verdicts_of(right, chosen, folder), asked) for one in done]
    return rights.text(told) if told else ""


def write(page, text):
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(_BEGIN)
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{_BEGIN}\n{platform()}\n{text.rstrip()}\n{_END}{rest.split(_END)[1]}")


def platform():
    """What was measured, and on what."""
    versions = [subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip().splitlines() or [""]
                for words in (["git", "-C", HERE, "log", "-1", "--format=%h"], ["lsb_release", "-ds"], ["gdb", "--version"])]
    commit, system, debugger = (lines[0] for lines in versions)
    return f"Commit {commit}; {system or 'Debian'}; {debugger}.\n"


def main():
    chosen = options()
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="refhist-corpus-") as folder, \
            concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        try:
            todo = work(chosen, folder)
        except cases.BadCase as error:
            sys.exit(str(error))
        running = [pool.submit(one) for one in todo]
        for number, done in enumerate(concurrent.futures.as_completed(running), 1):
            outcomes += done.result()
            if sys.stderr.isatty():
                print(f"\r{number} of {len(todo)}", end="", file=sys.stderr, flush=True)
        right = rights_report(chosen, folder, pool)
    if not outcomes and not right:
        sys.exit(f"no name contains {' or '.join(chosen.only)}")
    outcomes.sort(key=lambda outcome: (outcome.case.theme, outcome.case.name, outcome.debugger))
    text = (table.tables(outcomes, chosen.set_aside) if outcomes else "") + right
    print(text, end="")
    if chosen.write:
        write(chosen.write, text)
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump([table.as_json(outcome) for outcome in outcomes], file, indent=1)


if __name__ == "__main__":
    main()
