"""What a history takes in memory and in a file, and how long questions take: bench_store, and what it prints as tables."""

import re
import subprocess

from report import Report
from table import Column, Table

ABOUT = "histories of up to 100 million events, in memory and in a file"
MINUTES = 4

_WHOLE = (1_000_000, 10_000_000, 100_000_000)
_PLAIN = (1_000_000, 10_000_000)
_BOUNDED = (1_000_000, 30_000_000)
_GIB_OF_MOST = 3  # what a process with _WHOLE[-1] events needs, and some room


def _row(size):
    return f"{size // 1_000_000} million events"


def _table(title, columns, sizes):
    """`columns`: {name in the output of bench_store: Column}"""
    return Table(title, tuple(columns.values()), tuple(_row(size) for size in sizes))


_QUESTIONS = {"history_us": Column("one history us", 0), "leaks_s": Column("leaks s", 2),
              "leak_groups": Column("groups of leaks", 0)}
_MEMORY = {"objects": Column("objects", 0), "append_s": Column("appending s", 2), "bytes": Column("bytes an event", 1),
           "log_bytes": Column("of these events and stacks", 1), **_QUESTIONS, "process_gib": Column("process GiB", 2)}
_FILE = {"save_s": Column("saving s", 2), "file_bytes": Column("bytes an event", 1), "open_s": Column("opening s", 2),
         "opened_history_us": Column("one history us", 0)}
_ROWS = {"rows_s": Column("writing s", 2), "rows_bytes": Column("bytes an event", 1),
         "rows_history_us": Column("one history us", 0)}
_LIVE = {"alive": Column("objects at a time", 0), "event_ns": Column("ns an event", 0), "bytes": Column("bytes an event", 2),
         "folded": Column("folded objects", 0), "listed": Column("listed events", 0), **_QUESTIONS,
         "save_s": Column("saving s", 2), "file_mib": Column("file MiB", 1), "process_gib": Column("process GiB", 2)}

IN_MEMORY = _table("The history in memory", _MEMORY, _WHOLE)
IN_FILE = _table("The history in a file", _FILE, _WHOLE)
IN_ROWS = _table("The same in a file of plain rows with an index", _ROWS, _PLAIN)
KEEP_LIVE = _table("With keep live", _LIVE, _BOUNDED)
TABLES = (IN_MEMORY, IN_FILE, IN_ROWS, KEEP_LIVE)


def _free_gib():
    with open("/proc/meminfo", encoding="ascii") as memory:
        return int(re.search(r"MemAvailable: *(\d+)", memory.read()).group(1)) / (1 << 20)


def left_out(_setup, options):
    missing = {}
    if options.events:
        missing = {_row(size): "more than --events" for size in sorted({*_WHOLE, *_BOUNDED}) if size > options.events}
    elif _free_gib() < _GIB_OF_MOST:
        missing[_row(_WHOLE[-1])] = f"less than {_GIB_OF_MOST} GiB of memory are free"
    return missing


def _told(setup, *words):
    """{name: figure}"""
    done = subprocess.run([f"{setup.build}/tests/bench/bench_store", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"bench_store: {done.stdout}{done.stderr}")
    return {name: float(figure) for name, figure in (line.split() for line in done.stdout.splitlines())}


def _figures(columns, told):
    """`told`: {row: {name: figure}}"""
    return {row: tuple(figures[name] for name in columns) for row, figures in told.items()}


def run(setup, options):
    """`options.events`: no history has more."""
    missing = left_out(setup, options)
    report = Report(setup, missing)

    def told(sizes, *words):
        """Each in a process of its own, whose memory is that of one history."""
        return {_row(size): _told(setup, *words, str(size)) for size in sizes if _row(size) not in missing}

    plain = told(_PLAIN, "--rows")
    whole = {**plain, **told(size for size in _WHOLE if size not in _PLAIN)}
    report.table(IN_MEMORY, _figures(_MEMORY, whole))
    report.table(IN_FILE, _figures(_FILE, whole))
    report.table(IN_ROWS, _figures(_ROWS, plain))
    report.table(KEEP_LIVE, _figures(_LIVE, told(_BOUNDED, "--bounded")))
    report.finish()
    return report.text()
