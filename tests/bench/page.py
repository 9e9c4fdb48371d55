"""Runs the benches, prints their tables, and writes them into docs/performance.md.

Bad input ends with one line; a bench that fails is told, and the others run nevertheless. With --write a block of the page is
replaced when its bench has ended, by exactly what it has printed, and the drawing beside the page is drawn again.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import agent
import blocks
import breakpoints
import growth
import programs
import stacks
import store
from setup import Setup

# In the order of the page.
BENCHES = {"agent": agent, "programs": programs, "store": store, "breakpoints": breakpoints, "stacks": stacks, "growth": growth}
_BY_DEFAULT = [name for name in BENCHES if name != "growth"]  # that one is `make bench-growth`
_MINUTES_OF_PLOT = 2


def declared():
    return {name: bench.TABLES for name, bench in BENCHES.items()}


def options():
    perf = os.path.join(tempfile.gettempdir(), "refhist-perf")  # where tests/real/perf puts it
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", help="a build folder of `make bench`")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=_BY_DEFAULT, metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--rounds", type=_number, help="in place of each bench's own number")
    parser.add_argument("--events", type=_number, help="of one bench (--only): for a quick look")
    parser.add_argument("--perf", default=f"{perf}/O2/perf", help="a perf built by tests/real/perf (default: %(default)s)")
    parser.add_argument("--data", default=f"{perf}/perf.data", help="what it reports on (default: %(default)s)")
    parser.add_argument("--plot", metavar="SVG", help="draw how the agent's cost grows")
    parser.add_argument("--write", metavar="PAGE", help="also write what is printed into this page")
    parser.add_argument("--check", metavar="PAGE", help="run nothing: is the page what the benches print, whatever the figures?")
    chosen = parser.parse_args()
    if (chosen.build is None) == (chosen.check is None):
        parser.error("name a build folder, or a page with --check")
    if chosen.events and len(chosen.only) != 1:
        parser.error("--events means something else in each bench: name one with --only")
    return chosen


def _number(word):
    if not word.isdecimal() or int(word) == 0:
        raise argparse.ArgumentTypeError(f"a number from 1 on, and not {word}")
    return int(word)


def _text_of(path):
    try:
        with open(path, encoding="utf-8") as page:
            return page.read()
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from error


def _require_blocks(path, names):
    lacking = [name for name in names if name not in blocks.blocks(_text_of(path))]
    if lacking:
        raise SystemExit(f"{path} has no `<!-- make bench: {lacking[0]} -->` … `<!-- end -->` to write to")


def check(path):
    wrong = list(blocks.wrong_in_page(declared(), _text_of(path)))
    for line in wrong:
        print(f"{path}: {line}")
    if wrong:
        print("change tests/bench and run `make bench-page`: the tables of the page are printed, not typed")
    return 1 if wrong else 0


def announce(setup, chosen):
    """What is measured, how long it takes, what is missing."""
    minutes = sum(BENCHES[name].MINUTES for name in chosen.only) + (_MINUTES_OF_PLOT if chosen.plot else 0)
    print(f"Measuring {setup.version}. It takes some {minutes} min on a quiet machine; other work on it shows in the figures.")
    for name in chosen.only:
        print(f"  {name + ':':12} {BENCHES[name].ABOUT}, {BENCHES[name].MINUTES} min")
    missing = {what: why for name in chosen.only for what, why in BENCHES[name].left_out(setup, chosen).items()}
    print("Nothing is left out." if not missing else "Left out:")
    for what, why in missing.items():
        print(f"  {what}: {why}")
    sys.stdout.flush()


def run(name, setup, chosen):
    """Whether it has worked."""
    begin = time.monotonic()
    print(f"\n## {name}\n", flush=True)
    try:
        text = BENCHES[name].run(setup, chosen)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"{name} failed: {error}", flush=True)
        return False
    if chosen.write:
        page = blocks.replaced(_text_of(chosen.write), name, text)
        with open(chosen.write, "w", encoding="utf-8") as file:
            file.write(page)
    print(f"\n({name} took {(time.monotonic() - begin) / 60:.1f} minutes)", flush=True)
    return True


def main():
    chosen = options()
    if chosen.check:
        return check(chosen.check)
    setup = Setup(chosen.build)
    if chosen.write:
        _require_blocks(chosen.write, chosen.only)
    if chosen.write and "agent" in chosen.only:
        chosen.plot = chosen.plot or os.path.join(os.path.dirname(os.path.abspath(chosen.write)), "agent-cost.svg")
    announce(setup, chosen)
    failed = [name for name in chosen.only if not run(name, setup, chosen)]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
