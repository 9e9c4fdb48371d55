"""Times the breakpoint backend beside callbacks written by hand.

Every row of the table is a debugger of its own with its own copy of the program. All of them are started first and
then work in turn, one at a time, a small batch of events each: A B C … C B A A B C …, so that whatever else the
machine does hits all of them alike. A figure is the median of the rounds; a ratio is the median of the ratios
within a round. The debuggers, their servers and the programs all stay on one CPU: whether they happen to share one
decides more than what a callback does (in LLDB by a third), and differs from one start to the next.
"""

import contextlib
import os
import statistics
import tempfile

from breakpoint_subjects import gdb_subjects, lldb_subjects
from report import Report
from table import Column, Table
from workload import WORKLOADS

ABOUT = "stopping at breakpoints, beside callbacks written by hand"
MINUTES = 1
ROUNDS = 21

_EVENTS = 100  # of a batch
_WARM_UP = 20
_COLUMNS = (Column("wall us", 0), Column("CPU us", 0), Column("wall ratio", 2), Column("CPU ratio", 2))


def _taking_part(subjects, workload):
    return [subject for subject in subjects if workload in subject.workloads]


def _table(debugger, subjects, workload):
    taking_part = _taking_part(subjects, workload)
    targets = {subject.title: subject.target[workload] for subject in taking_part if workload in subject.target}
    return Table(f"{debugger}: {workload.title}", _COLUMNS, tuple(subject.title for subject in taking_part), targets,
                 ("wall ratio", "CPU ratio"), "both ratios")


def _tables(debugger, subjects):
    """By workload. Nothing is started for it."""
    return {workload: _table(debugger, subjects, workload) for workload in WORKLOADS}


GDB_TABLES = _tables("GDB", gdb_subjects("", "", ""))
LLDB_TABLES = _tables("LLDB", lldb_subjects("", "", ""))
TABLES = (*GDB_TABLES.values(), *LLDB_TABLES.values())


def left_out(setup, _options):
    return setup.without_lldb(table.title for table in LLDB_TABLES.values())


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


def figures_of(taken, naive):
    """{subject's title: wall and CPU time, and the ratio of each to the callback by hand}"""
    figures = {}
    for subject, batches in taken.items():
        times = [statistics.median(batch[i] for batch in batches) for i in (0, 1)]
        ratios = [statistics.median(own[i] / other[i] for own, other in zip(batches, taken[naive])) for i in (0, 1)]
        figures[subject.title] = (*times, *ratios)
    return figures


def bench(report, tables, subjects, rounds, events):
    try:
        for subject in subjects:
            subject.session.start()
        for workload, table in tables.items():
            taken = measure(_taking_part(subjects, workload), workload, rounds, events)
            report.table(table, figures_of(taken, subjects[0]))
        for subject in subjects:
            subject.session.finish()
    finally:
        for subject in subjects:
            subject.session.kill()


@contextlib.contextmanager
def one_cpu():
    """What is started meanwhile stays on it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(setup, options):
    """`options.events`: of a batch."""
    rounds, events = options.rounds or ROUNDS, options.events or _EVENTS
    report = Report(setup, left_out(setup, options), f"{rounds} rounds of {events} events; ")
    with one_cpu(), tempfile.TemporaryDirectory(prefix="refhist-bench-") as scratch:
        bench(report, GDB_TABLES, gdb_subjects(setup.build, setup.gdb, scratch), rounds, events)
        if setup.lldb:
            bench(report, LLDB_TABLES, lldb_subjects(setup.build, setup.lldb, scratch), rounds, events)
    report.finish()
    return report.text()
