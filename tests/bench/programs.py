"""What the agent costs whole programs, what its history takes, and how long arming takes.

The pipeline of gst-launch-1.0 tells its own run time; perf is timed as a whole, without the start of the debugger. All rows
of a table run in turn in each round; figures are medians.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

from report import Report
from setup import not_installed
from table import Column, Table

ABOUT = "whole programs, the memory of their histories, arming"
MINUTES = 2
ROUNDS = 5

_BUFFERS = 1_000_000
_PIPELINE = ["fakesrc", f"num-buffers={_BUFFERS}", "!", "identity", "!", "identity", "!", "fakesink"]
_RUN = r"""python
import os, time
begin = time.perf_counter()
gdb.execute("run > /dev/null")
print("took %.6f" % (time.perf_counter() - begin))
end
"""

_EVERYTHING = "refhist, all stacks, malloc followed"
_NO_ALLOCATOR = "refhist, all stacks, no allocator"
_NO_STACKS = "refhist --stacks none, no allocator"
_IN_PERF = "refhist track dso thread nsinfo, malloc followed"
_GLIB = "functions of GLib"


def _seconds(title, rows, ratio, target):
    """A table whose first row is the program without refhist. `target`: what the ratio of the second may be."""
    return Table(title, (Column("seconds", 3), Column(ratio, 2)), rows, {rows[1]: target}, (ratio,))


PIPELINE = _seconds(f"GStreamer: {_BUFFERS:,} buffers through two elements",
                    ("native", _EVERYTHING, _NO_ALLOCATOR, _NO_STACKS), "ratio to native", 1.75)
HISTORY = Table("The history of this pipeline in memory: events, objects, stacks and names",
                (Column("events", 0), Column("MiB", 1), Column("bytes an event", 1)), (_EVERYTHING,), {_EVERYTHING: 16},
                ("bytes an event",))
PERF = _seconds("perf report in GDB", ("GDB alone", _IN_PERF), "ratio to GDB alone", 2)
ARMING = Table("Arming functions in the agent", (Column("functions", 0), Column("seconds for 1,000", 2)), (_GLIB,), {_GLIB: 1},
               ("seconds for 1,000",))
TABLES = (PIPELINE, HISTORY, PERF, ARMING)


def left_out(_setup, options):
    missing = {}
    if shutil.which("gst-launch-1.0") is None:
        missing = dict.fromkeys([PIPELINE.title, HISTORY.title], not_installed("gst-launch-1.0", "gstreamer1.0-tools"))
    if not (os.access(options.perf, os.X_OK) and os.path.exists(options.data)):
        missing[PERF.title] = "no perf with debug information: build it with tests/real/perf, or name it by --perf and --data"
    return missing


class Debugger:
    def __init__(self, setup):
        self.build, self.gdb = setup.build, setup.gdb
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", DEBUGINFOD_URLS="", PERF_CONFIG="/dev/null", TERM="dumb")

    def say(self, argv, *commands):
        """What GDB prints, with refhist loaded."""
        words = [w for c in (f"source {self.build}/gdb/refhist.py", *commands) for w in ("-ex", c)]
        done = subprocess.run([self.gdb, "-nx", "-q", "-batch", *words, "--args", *argv], capture_output=True, text=True,
                              timeout=600, env=self.environment, check=False)
        return done.stdout + done.stderr


def found(pattern, output):
    """The groups of the pattern; without them something went wrong, and the output says what."""
    match = re.search(pattern, output)
    if match is None:
        raise RuntimeError(f"nothing like '{pattern}' in: {output[-1000:]}")
    return match.groups()


def seconds_of_pipeline(output):
    hours, minutes, seconds = found(r"Execution ended after (\d+):(\d+):([0-9.]+)", output)
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def seconds_told(output):
    return float(found(r"took ([0-9.]+)", output)[0])


def native(argv, environment):
    return subprocess.run(argv, capture_output=True, text=True, env=environment, check=True).stdout


def compared(rows, rounds):
    """rows: {title: function that returns seconds}. The first is the program alone."""
    taken = {name: [] for name in rows}
    for number in range(rounds):
        for name in rows if number % 2 == 0 else reversed(rows):
            taken[name].append(rows[name]())
    medians = {name: statistics.median(values) for name, values in taken.items()}
    alone = next(iter(medians.values()))
    return {name: (value, value / alone) for name, value in medians.items()}


def pipeline(report, debugger, rounds):
    argv = [shutil.which("gst-launch-1.0"), *_PIPELINE]
    told = []

    def recorded(*commands):
        text = debugger.say(argv, *commands, "refhist track GObject GstMiniObject", "run", "refhist status")
        if "not recorded" in text:
            raise RuntimeError(f"events were lost: {text[-1000:]}")
        told.append(found(r"(\d+) events, .*, ([0-9.]+) MiB of memory", text))
        return seconds_of_pipeline(text)

    report.table(PIPELINE, compared({
        "native": lambda: seconds_of_pipeline(native(argv, debugger.environment)),
        _EVERYTHING: recorded,
        _NO_ALLOCATOR: lambda: recorded("refhist set allocators off"),
        _NO_STACKS: lambda: recorded("refhist set allocators off", "refhist set stacks none"),
    }, rounds))
    events, mebibytes = int(told[0][0]), float(told[0][1])
    report.table(HISTORY, {_EVERYTHING: (events, mebibytes, mebibytes * 1048576 / events)})


def perf_report(report, debugger, perf, data, rounds):
    argv = [perf, "report", "--stdio", "-i", data]

    def timed(*commands):
        # As the debugger sees it in both rows: from `run` to the end, so its own start counts in neither.
        text = debugger.say(argv, "set startup-with-shell on", *commands, "source " + script.name)
        return seconds_told(text)

    with tempfile.NamedTemporaryFile("w", suffix=".gdb", encoding="utf-8") as script:
        script.write(_RUN)
        script.flush()
        report.table(PERF, compared({"GDB alone": timed, _IN_PERF: lambda: timed("refhist track dso thread nsinfo")}, rounds))


def arming(report, debugger, rounds):
    """Every exported function of GLib, as gets of one family."""
    program = f"{debugger.build}/tests/sessions/session_glib_types"
    clock = 'python import time; begin = time.perf_counter()'
    told = 'python print("took %.6f" % (time.perf_counter() - begin))'
    taken = []
    for _ in range(rounds):
        text = debugger.say([program], "refhist set allocators off", "break main", "run", "refhist track GBytes", clock,
                            "refhist track --name all --get 'g_*' --put conn_put", told, "refhist status --json")
        seconds = seconds_told(text)
        sites = [s for s in json.loads(text[text.index('{\n  "schema"') :])["sites"] if s["backend"] == "agent"]
        taken.append(seconds / len(sites) * 1000)
    report.table(ARMING, {_GLIB: (len(sites), statistics.median(taken))})


def run(setup, options):
    rounds = options.rounds or ROUNDS
    missing = left_out(setup, options)
    report, debugger = Report(setup, missing, f"{rounds} rounds; "), Debugger(setup)
    if PIPELINE.title not in missing:
        pipeline(report, debugger, rounds)
    if PERF.title not in missing:
        perf_report(report, debugger, options.perf, options.data, rounds)
    arming(report, debugger, rounds)
    report.finish()
    return report.text()
