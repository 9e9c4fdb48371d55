"""Times recording inside the program beside other recorders, and how its cost grows.

usage: agent.py BUILD_DIR [--rounds N] [--plot FILE.svg]

All rows of a table run the same program (agent_program.c), one after the other in each round, forwards and then
backwards. The program itself measures nanoseconds per event; a figure is the median of the rounds. "added" is what is
more than the program alone.
"""

import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine  # noqa: E402
import plot  # noqa: E402
from agent_subjects import (Load, Subject, by_hand_in_gdb, by_hand_in_lldb, heap_subjects, others, refhist_in_gdb,  # noqa: E402
                            refhist_in_lldb)
from run import cached  # noqa: E402

_RULES = ("refhist break-on-imbalance", "refhist break-on-put-to-zero")


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, help="of the fast rows, for each thread")
    parser.add_argument("--plot", help="also measure how the cost grows, and draw it there")
    return parser.parse_args()


def measure(subjects, program, load, rounds):
    """{subject: median of the nanoseconds per event}"""
    taken = {subject.title: [] for subject in subjects}
    for number in range(rounds):
        for subject in subjects if number % 2 == 0 else reversed(subjects):
            taken[subject.title].append(subject.run(program, load))
    return {title: statistics.median(values) for title, values in taken.items()}


def table(title, medians, targets=None):
    print(f"\n### {title}\n")
    print("|  | ns per event | added | ratio to native | target (added) |")
    print("| --- | ---: | ---: | ---: | ---: |")
    native = medians["native"]
    for name, value in medians.items():
        target = (targets or {}).get(name, "")
        print(f"| {name} | {value:.1f} | {value - native:.1f} | {value / native:.2f} | {target} |")
    sys.stdout.flush()


def tell(missing):
    for line in missing:
        print(f"not measured: {line}")


def growth(program, native, recorded, rounds):
    """How the added cost grows with the objects that live, and with threads."""
    by_objects = {}
    for count in (10_000, 200_000, 5_000_000):
        load = Load(objects=count)
        medians = measure([native, recorded], program, load, rounds)
        by_objects[count] = medians[recorded.title] - medians["native"]
    by_threads = {}
    for threads in (1, 2, 4, 8, 16):
        load = Load(threads=threads)
        medians = measure([native, recorded], program, load, rounds)
        by_threads[threads] = medians[recorded.title] - medians["native"]
    return by_objects, by_threads


def main():
    arguments = options()
    build, rounds = os.path.abspath(arguments.build), arguments.rounds
    gdb, lldb = cached(build, "REFHIST_GDB_PROGRAM"), cached(build, "REFHIST_LLDB_PROGRAM")
    program = f"{build}/tests/bench/bench_agent_program"
    events = arguments.events or 2_000_000
    print(machine.line(gdb, lldb))
    print(f"{rounds} rounds; load at the start: {machine.load()}")
    native = Subject("native", ["env"], events)
    agent = refhist_in_gdb(build, gdb, events=events)
    with_rules = refhist_in_gdb(build, gdb, "refhist, agent, stop rules on imbalance and put to zero", *_RULES, events=events)
    rest, missing = others(build)
    slow = [by_hand_in_gdb(gdb)]
    if lldb:
        rest.insert(0, refhist_in_lldb(build, lldb))
        slow.append(by_hand_in_lldb(build, lldb))
    subjects = [native, agent, with_rules, *rest, *slow]
    table("32 frames, one chain", measure(subjects, program, Load(), rounds), {agent.title: "<= 60"})
    tell(missing)
    heap, missing = heap_subjects(build, gdb, events)
    table("32 frames, malloc and free", measure(heap, program, Load(heap=True), rounds))
    tell(missing)
    pair = [native, agent]
    inlined = f"{program}_inlined"
    table("32 frames, gets and puts inlined", measure([native, agent], inlined, Load(), rounds), {agent.title: "<= 70"})
    table("32 frames, 4,096 chains", measure(pair, program, Load(chains=4096), rounds), {agent.title: "<= 130"})
    table("Two threads, each its own objects", measure(pair, program, Load(threads=2), rounds))
    table("Two threads, one object", measure(pair, program, Load(threads=2, objects=1, shared=True), rounds))
    if arguments.plot:
        plot.draw(arguments.plot, *growth(program, native, agent, rounds))
    print(f"\nload at the end: {machine.load()}")


if __name__ == "__main__":
    main()
