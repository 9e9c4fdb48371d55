"""How the cost of a session grows with what there is: each quantity is doubled five times while the rest stays as it is.

The figures are seconds of processor time, of the debugger and its program together, the least of the rounds. The exponent is
k of a + b * size^k through the six of them; its least and most are what it would be without one of the inner sizes, or by one
round alone. 0 means that the time does not grow, or by less than the machine disturbs it. The start of the debugger until the
program begins is in no figure, except where refhist-run follows children.
"""

import argparse
import sys
import tempfile
import types

import growth_fit
from growth_quantities import DOUBLINGS, QUANTITIES
from growth_run import ARGV, PHASES, RUN, measure
from report import Report
from setup import Setup
from table import Column, Table

ABOUT = "how the cost grows with each quantity"
MINUTES = 30
ROUNDS = 2
_LIMIT = 1.1
_MARK = "exponent"
_COLUMNS = (
    Column("smallest", 0), *(Column(f"x{1 << doubling} s", 2) for doubling in range(DOUBLINGS + 1)),
    Column("us each more", 1), Column(_MARK, 2), Column("least", 2), Column("most", 2),
)
# The quantities that a debugger's table has, by phase.
_CHILDREN = tuple(q.name for q in QUANTITIES if q.children)
_OTHERS = tuple(q.name for q in QUANTITIES if not q.children)
_WALL = "wall"


def _table(title, rows):
    return Table(title, _COLUMNS, rows, dict.fromkeys(rows, _LIMIT), (_MARK,))


def _tables():
    tables = {(debugger, phase): _table(f"{debugger}: {what}", _OTHERS) for debugger in ARGV for phase, what in PHASES.items()}
    tables["children", RUN] = _table("GDB: refhist-run --children, processor time", _CHILDREN)
    tables["children", _WALL] = _table("GDB: refhist-run --children, time that passes", _CHILDREN)
    return tables


_BY_KEY = _tables()
TABLES = tuple(_BY_KEY.values())


def left_out(setup, _options):
    return setup.without_lldb([table.title for (debugger, _), table in _BY_KEY.items() if debugger == "LLDB"])


def _figures(sizes, rounds):
    """`rounds`: lists of seconds, one for each size."""
    found = growth_fit.fit(sizes, rounds)
    least = [min(times) for times in zip(*rounds)]
    more = max(0, least[-1] - least[0]) / (sizes[-1] - sizes[0]) * 1e6
    return (sizes[0], *least, more, found.exponent, found.least, found.most)


def _measure(setup, debugger, quantity, options, folder):
    """{phase: figures}"""
    sizes = quantity.sizes(options.scale)
    taken = {}
    for _ in range(options.rounds or ROUNDS):
        seconds = [measure(setup, debugger, quantity, size, folder) for size in sizes]
        for phase in seconds[0]:
            taken.setdefault(phase, []).append([of_size[phase] for of_size in seconds])
    figures = {phase: _figures(sizes, rounds) for phase, rounds in taken.items()}
    for phase, row in figures.items():
        mark = "  <-- grows too fast" if row[-3] > _LIMIT else ""
        print(f"  {debugger} {quantity.name} {phase}: {' '.join(f'{value:.2f}' for value in row[1:7])}: exponent "
              f"{row[-3]:.2f} ({row[-2]:.2f} to {row[-1]:.2f}){mark}", file=sys.stderr, flush=True)
    return figures


def _all(setup, options, chosen):
    """{(debugger, phase): {quantity: figures}}"""
    tables = {key: {} for key in _BY_KEY}
    with tempfile.TemporaryDirectory(prefix="refhist-growth-") as folder:
        for debugger in options.debugger:
            for quantity in chosen:
                if quantity.children and debugger != "GDB":
                    continue
                whose = "children" if quantity.children else debugger
                for phase, figures in _measure(setup, debugger, quantity, options, folder).items():
                    tables[whose, phase][quantity.name] = figures
    return tables


def _print(setup, options, tables, missing):
    chosen = {quantity.name for quantity in QUANTITIES if not options.only or quantity.name in options.only}
    rows = {name for key, table in _BY_KEY.items() if key in tables for name in table.rows}
    missing = {**missing, **{name: "not asked for" for name in rows - chosen}}
    missing.update({_BY_KEY[key].title: "not asked for" for key, figures in tables.items()
                    if not figures and _BY_KEY[key].title not in missing})
    report = Report(setup, missing, f"{options.rounds or ROUNDS} rounds; ")
    for key, figures in tables.items():
        if figures:
            report.table(_BY_KEY[key], figures)
    report.finish()
    return report.text()


def run(setup, options):
    """As one bench of page.py: everything that this build has."""
    debuggers = [name for name in ARGV if name != "LLDB" or setup.lldb]
    return _run(setup, types.SimpleNamespace(rounds=options.rounds, debugger=debuggers, only=None, scale=1))


def _run(setup, options):
    chosen = [quantity for quantity in QUANTITIES if not options.only or quantity.name in options.only]
    return _print(setup, options, _all(setup, options, chosen), left_out(setup, options))


def main():
    names = [quantity.name for quantity in QUANTITIES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="a build folder of `make bench-growth`")
    parser.add_argument("--only", nargs="+", choices=names, metavar="QUANTITY", help=", ".join(names))
    parser.add_argument("--debugger", nargs="+", choices=ARGV, default=list(ARGV), help="(default: both)")
    parser.add_argument("--rounds", type=int, help=f"(default: {ROUNDS})")
    parser.add_argument("--scale", type=float, default=1, help="times the sizes: for a quick look, or a long one")
    options = parser.parse_args()
    setup = Setup(options.build)
    if not setup.lldb:
        options.debugger = [name for name in options.debugger if name != "LLDB"]
    print(__doc__)
    for phase, what in PHASES.items():
        print(f"{phase}: {what}")
    print("", flush=True)
    _run(setup, options)


if __name__ == "__main__":
    main()
