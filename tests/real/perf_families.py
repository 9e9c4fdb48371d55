"""Compares what refhist recorded of perf's families in one run with what callgrind counted in another, of the build in which nothing
is inlined: how often references were taken and given back (null pointers are neither), and how many objects ended.
Every object that ended must have no reference left. usage: perf_families.py --callgrind FILE --history SQLITE
Ends with 0 only when all are equal.
"""

import argparse
import collections
import sqlite3
import sys

from callgrind_file import CallgrindFile, plain

# Functions by which a family's counter goes up and down, and the one that ends an object.
INCREMENTS = ("refcount_inc", "refcount_inc_not_zero")
DECREMENTS = ("refcount_dec_and_test",)
ENDS = {"map": "map__delete", "maps": "maps__delete", "dso": "dso__delete", "thread": "thread__delete", "comm_str": None, "nsinfo": "nsinfo__delete"}


def changes(callgrind, function, by):
    """How often the function changed a counter."""
    return sum(count for (caller, callee), count in callgrind.calls.items() if plain(caller) == function and plain(callee) in by)


class History:
    """What `refhist export --format sqlite` wrote."""

    def __init__(self, path):
        self._file = sqlite3.connect(path)

    def events(self):
        """{(family, role): how many}; a try that got nothing is none."""
        rows = self._file.execute(
            "SELECT families.name, iif(events.unobserved, 'unobserved', roles.name), count(*) FROM events JOIN objects ON objects.id = events.object"
            " JOIN families ON families.id = objects.family JOIN roles ON roles.id = events.role"
            " WHERE NOT events.failed GROUP BY 1, 2")
        return collections.Counter({(family, role): count for family, role, count in rows})

    def ended(self):
        """{family: (objects that ended, those of them with references left)}"""
        rows = self._file.execute(
            "SELECT families.name, count(*), sum(objects.count != 0) FROM objects JOIN families ON families.id = objects.family"
            " WHERE objects.state = 1 GROUP BY 1")
        return {family: (ended, left) for family, ended, left in rows}


def compare(callgrind, history):
    events, ended = history.events(), history.ended()
    print(f"  {'':<36} {'callgrind':>9} {'refhist':>9}")
    same = True

    def row(what, expected, actual):
        nonlocal same
        same = same and expected == actual
        print(f"  {what:<36} {expected:>9} {actual:>9}  {'equal' if expected == actual else 'DIFFERENT'}")

    for family, end in ENDS.items():
        taken = events[family, "get"] + events[family, "try_get"]
        row(f"{family}: references taken", changes(callgrind, f"{family}__get", INCREMENTS), taken)
        row(f"{family}: references given back", changes(callgrind, f"{family}__put", DECREMENTS), events[family, "put"])
        dead, left = ended.get(family, (0, 0))
        if end:
            row(f"{family}: objects that ended", callgrind.calls_of(end), dead)
        row(f"{family}: of these with references left", 0, left)
        row(f"{family}: changes without a probe", 0, events[family, "unobserved"])
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--callgrind", required=True)
    parser.add_argument("--history", required=True)
    options = parser.parse_args()
    sys.exit(0 if compare(CallgrindFile(options.callgrind), History(options.history)) else 1)


if __name__ == "__main__":
    main()
