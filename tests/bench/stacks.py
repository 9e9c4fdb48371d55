"""Times the walker of the agent: bench_stack_capture, and what it prints as a table."""

import subprocess

from report import Report
from table import Column, Table

ABOUT = "the stacks that the agent captures"
MINUTES = 1
ROUNDS = 15

# {row: frames, chains, events in each chain, order of the chains}
_SUBJECTS = {
    "12 frames, one chain, 100 events in it": (12, 1, 100, "tree"),
    "32 frames, one chain, 100 events in it": (32, 1, 100, "tree"),
    "32 frames, one chain, called anew each time": (32, 1, 1, "tree"),
    "32 frames, 128 chains of a tree": (32, 128, 1, "tree"),
    "32 frames, 500 chains of a tree": (32, 500, 1, "tree"),
    "32 frames, 4,000 chains of a tree": (32, 4000, 1, "tree"),
    "32 frames, 20,000 chains of a tree": (32, 20000, 1, "tree"),
    "32 frames, 128 random chains": (32, 128, 1, "random"),
    "32 frames, 4,000 random chains": (32, 4000, 1, "random"),
    "32 frames, 4,000 random chains, 4 events in each": (32, 4000, 4, "random"),
}
CAPTURE = Table("Nanoseconds for one stack", (Column("captured", 1), Column("empty call", 1), Column("added", 1)), tuple(_SUBJECTS))
TABLES = (CAPTURE,)


def left_out(_setup, _options):
    return {}


def run(setup, options):
    rounds = options.rounds or ROUNDS
    report = Report(setup, {}, f"the least of {rounds} rounds; ")
    words = [",".join(str(value) for value in subject) for subject in _SUBJECTS.values()]
    done = subprocess.run([f"{setup.build}/tests/bench/bench_stack_capture", str(rounds), *words], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(f"bench_stack_capture: {done.stdout}{done.stderr}")
    times = [tuple(float(word) for word in line.split()) for line in done.stdout.splitlines()]
    report.table(CAPTURE, {row: (captured, empty, captured - empty) for row, (captured, empty) in zip(_SUBJECTS, times)})
    report.finish()
    return report.text()
