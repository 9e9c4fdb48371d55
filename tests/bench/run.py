"""Times the breakpoint backend beside callbacks written by hand.

usage: run.py BUILD_DIR [--rounds N] [--events N] [--debugger gdb|lldb]

Every row of the table is a debugger of its own with its own copy of the program. All of them are started first and
then work in turn, one at a time, a small batch of events each: A B C … C B A A B C …, so that whatever else the
machine does hits all of them alike. A figure is the median of the rounds; a ratio is the median of the ratios
within a round. The debuggers, their servers and the programs all stay on one CPU: whether they happen to share one
decides more than what a callback does (in LLDB by a third), and differs from one start to the next.
"""

import argparse
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine  # noqa: E402
import table  # noqa: E402
from subjects import gdb_subjects, lldb_subjects  # noqa: E402
from workload import WORKLOADS  # noqa: E402

_WARM_UP = 20  # events


def cached(build, variable):
    """A value of the CMake cache; "" when it is not set."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        values = [line.rstrip("\n").split("=", 1)[1] for line in cache if line.startswith(variable + ":")]
    return values[0] if values else ""


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--events", type=int, default=100, help="per batch")
    parser.add_argument("--debugger", choices=["gdb", "lldb"], help="only this one")
    return parser.parse_args()


def measure(subjects, workload, rounds, events):
    """{subject: [(wall, cpu) in microseconds per event, of each round]}"""
    taken = {subject: [] for subject in subjects}
    for subject in subjects:  # symbols are read and return addresses armed at the first call
        subject.session.work(workload, _WARM_UP)
    for number in range(rounds):
        for subject in subjects if number % 2 == 0 else reversed(subjects):
            wall, cpu = subject.session.work(workload, events)
            taken[subject].append((wall * 1e6 / events, cpu * 1e6 / events))
    return taken


def rows_of(taken, naive):
    for subject, batches in taken.items():
        ratios = [[own[i] / other[i] for own, other in zip(batches, taken[naive])] for i in (0, 1)]
        yield table.Row(
            subject=subject.title,
            wall=statistics.median(wall for wall, _ in batches),
            cpu=statistics.median(cpu for _, cpu in batches),
            wall_ratio=statistics.median(ratios[0]),
            cpu_ratio=statistics.median(ratios[1]),
            target=subject.target,
        )


def bench(name, subjects, rounds, events):
    naive = subjects[0]
    try:
        for subject in subjects:
            subject.session.start()
        for workload in WORKLOADS:
            taking_part = [s for s in subjects if workload in s.workloads]
            taken = measure(taking_part, workload, rounds, events)
            print(table.heading(name, workload))
            print(table.text(rows_of(taken, naive), workload), flush=True)
        for subject in subjects:
            subject.session.finish()
    finally:
        for subject in subjects:
            subject.session.kill()


def main():
    chosen = options()
    build = os.path.abspath(chosen.build)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # what is started from here on inherits it
    gdb, lldb = cached(build, "REFHIST_GDB_PROGRAM"), cached(build, "REFHIST_LLDB_PROGRAM")
    print(machine.line(gdb, lldb))
    print(f"{chosen.rounds} rounds of {chosen.events} events; load at the start: {machine.load()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="refhist-bench-") as scratch:
        if chosen.debugger != "lldb":
            bench("GDB", gdb_subjects(build, gdb, scratch), chosen.rounds, chosen.events)
        if lldb and chosen.debugger != "gdb":
            bench("LLDB", lldb_subjects(build, lldb, scratch), chosen.rounds, chosen.events)
    print(f"load at the end: {machine.load()}")


if __name__ == "__main__":
    main()
