"""Times recording inside the program beside other recorders, and how its cost grows.

All rows of a table run the same program (agent_program.c), one after the other in each round, forwards and then
backwards. The program itself measures nanoseconds per event; a figure is the median of the rounds. "added" is what is
more than the program alone.
"""

import statistics

import agent_subjects as subjects
import plot
from agent_subjects import Load
from report import Report
from table import Column, Table

ABOUT = "recording inside the program, beside other recorders"
MINUTES = 3
ROUNDS = 5

_COLUMNS = (Column("ns per event", 1), Column("added", 1), Column("ratio to native", 2))
_TIMES = Column("times one thread's", 2)
_PAIR = (subjects.NATIVE, subjects.AGENT)


def _table(title, rows=_PAIR, target=None):
    """`target`: nanoseconds that refhist may add."""
    return Table(title, _COLUMNS, rows, {subjects.AGENT: target} if target else {}, ("added",))


def _threads(title, target):
    """`target`: what refhist adds, as a multiple of what it adds to one thread's event."""
    return Table(title, (*_COLUMNS, _TIMES), _PAIR, {subjects.AGENT: target}, (_TIMES.name,))


CHAIN = _table("32 frames, one chain",
               (*_PAIR, subjects.WITH_RULES, subjects.IN_LLDB, subjects.INTERPOSER, subjects.UPROBES, subjects.UFTRACE,
                subjects.MEMCHECK, subjects.BY_HAND_IN_GDB, subjects.BY_HAND_IN_LLDB), 60)
HEAP = _table("32 frames, malloc and free", (*_PAIR, subjects.HEAPTRACK, subjects.MEMCHECK))
INLINED = _table("32 frames, gets and puts inlined", target=70)
CHAINS = _table("32 frames, 4,096 chains", target=130)
OWN_OBJECTS = _threads("Two threads, each its own objects", 1.3)
ONE_OBJECT = _threads("Two threads, one object", 3)
TABLES = (CHAIN, HEAP, INLINED, CHAINS, OWN_OBJECTS, ONE_OBJECT)


def left_out(setup, _options):
    return subjects.left_out(setup)


def measure(chosen, program, load, rounds):
    """{subject: median of the nanoseconds per event}"""
    taken = {subject.title: [] for subject in chosen}
    for number in range(rounds):
        for subject in chosen if number % 2 == 0 else reversed(chosen):
            taken[subject.title].append(subject.run(program, load))
    return {title: statistics.median(values) for title, values in taken.items()}


def _added(medians):
    return medians[subjects.AGENT] - medians[subjects.NATIVE]


def _figures(medians):
    native = medians[subjects.NATIVE]
    return {title: (value, value - native, value / native) for title, value in medians.items()}


def _of_threads(medians, one_thread):
    """The program alone adds nothing: no figure."""
    times = {subjects.NATIVE: None, subjects.AGENT: _added(medians) / one_thread}
    return {title: (*values, times[title]) for title, values in _figures(medians).items()}


def growth(program, pair, rounds):
    """How the added cost grows with the objects that live, and with threads."""
    by_objects = {count: _added(measure(pair, program, Load(objects=count), rounds)) for count in (10_000, 200_000, 5_000_000)}
    by_threads = {count: _added(measure(pair, program, Load(threads=count), rounds)) for count in (1, 2, 4, 8, 16)}
    return by_objects, by_threads


def _everyone(setup, events):
    return [subjects.native(events), subjects.refhist_in_gdb(setup, events), subjects.refhist_with_rules(setup, events),
            subjects.refhist_in_lldb(setup, events), subjects.interposer(setup, events), subjects.uprobes(setup),
            subjects.uftrace(), subjects.memcheck(), subjects.by_hand_in_gdb(setup), subjects.by_hand_in_lldb(setup)]


def run(setup, options):
    """`options.events`: of the fast rows, for each thread. `options.plot`: also measure how the cost grows, and draw it there."""
    rounds, events = options.rounds or ROUNDS, options.events or 2_000_000
    missing = left_out(setup, options)
    report = Report(setup, missing, f"{rounds} rounds; ")
    program = f"{setup.build}/tests/bench/bench_agent_program"
    pair = [subjects.native(events), subjects.refhist_in_gdb(setup, events)]

    def medians(load, chosen=pair, of=program):
        return measure([subject for subject in chosen if subject.title not in missing], of, load, rounds)

    chain = medians(Load(), _everyone(setup, events))
    report.table(CHAIN, _figures(chain))
    report.table(HEAP, _figures(medians(Load(heap=True), subjects.heap_subjects(setup, events))))
    report.table(INLINED, _figures(medians(Load(), of=f"{program}_inlined")))
    report.table(CHAINS, _figures(medians(Load(chains=4096))))
    report.table(OWN_OBJECTS, _of_threads(medians(Load(threads=2)), _added(chain)))
    report.table(ONE_OBJECT, _of_threads(medians(Load(threads=2, objects=1, shared=True)), _added(chain)))
    if options.plot:
        plot.draw(options.plot, *growth(program, pair, rounds))
    report.finish()
    return report.text()
