"""What the agent costs whole programs, what its history takes, and how long arming takes.

usage: programs.py BUILD_DIR [--rounds N] [--perf PERF --data PERF.DATA]

The pipeline of gst-launch-1.0 tells its own run time; perf is timed as a whole, without the start of the debugger. All rows
of a table run in turn in each round; figures are medians. Programs that are not installed are named and left out.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine  # noqa: E402
from run import cached  # noqa: E402

_PIPELINE = ["fakesrc", "num-buffers=1000000", "!", "identity", "!", "identity", "!", "fakesink"]
_RUN = r"""python
import os, time
begin = time.perf_counter()
gdb.execute("run > /dev/null")
print("took %.6f" % (time.perf_counter() - begin))
"""


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--perf", help="a perf built by tests/real/perf")
    parser.add_argument("--data", help="what it reports on")
    return parser.parse_args()


class Debugger:
    def __init__(self, build):
        self.build, self.gdb, self.lldb = build, cached(build, "REFHIST_GDB_PROGRAM"), cached(build, "REFHIST_LLDB_PROGRAM")
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", DEBUGINFOD_URLS="", PERF_CONFIG="/dev/null", TERM="dumb")

    def say(self, argv, *commands):
        """What GDB prints, with refhist loaded."""
        words = [w for c in (f"source {self.build}/gdb/refhist.py", *commands) for w in ("-ex", c)]
        done = subprocess.run([self.gdb, "-nx", "-q", "-batch", *words, "--args", *argv], capture_output=True, text=True,
                              timeout=600, env=self.environment, check=False)
        return done.stdout + done.stderr


def seconds_of_pipeline(output):
    hours, minutes, seconds = re.search(r"Execution ended after (\d+):(\d+):([0-9.]+)", output).groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def native(argv, environment):
    return subprocess.run(argv, capture_output=True, text=True, env=environment, check=True).stdout


def table(title, rows, rounds):
    """rows: {title: function that returns seconds}. The first is the program alone."""
    taken = {name: [] for name in rows}
    for number in range(rounds):
        for name in rows if number % 2 == 0 else reversed(rows):
            taken[name].append(rows[name]())
    print(f"\n### {title}\n\n|  | seconds | ratio to native |\n| --- | ---: | ---: |")
    alone = statistics.median(next(iter(taken.values())))
    for name, values in taken.items():
        print(f"| {name} | {statistics.median(values):.3f} | {statistics.median(values) / alone:.2f} |")
    sys.stdout.flush()


def pipeline(debugger, rounds):
    program = shutil.which("gst-launch-1.0")
    if program is None:
        print("\ngst-launch-1.0 is not installed (gstreamer1.0-tools): left out")
        return
    argv = [program, *_PIPELINE]
    told = []

    def recorded(*commands):
        text = debugger.say(argv, *commands, "refhist track GObject GstMiniObject", "run", "refhist status")
        if "not recorded" in text:
            raise RuntimeError(f"events were lost: {text[-1000:]}")
        told.append(re.search(r"(\d+) events, .*, ([0-9.]+) MiB of memory", text).groups())
        return seconds_of_pipeline(text)

    table("GStreamer: 1,000,000 buffers through two elements", {
        "native": lambda: seconds_of_pipeline(native(argv, debugger.environment)),
        "refhist, all stacks, malloc followed": recorded,
        "refhist, all stacks, no allocator": lambda: recorded("refhist set allocators off"),
        "refhist --stacks none, no allocator": lambda: recorded("refhist set allocators off", "refhist set stacks none"),
    }, rounds)
    events, mebibytes = told[0]
    print(f"\n{events} events and their objects, stacks and names take {mebibytes} MiB: "
          f"{float(mebibytes) * 1048576 / int(events):.1f} bytes an event")


def perf_report(debugger, perf, data, rounds):
    argv = [perf, "report", "--stdio", "-i", data]

    def timed(*commands):
        # As the debugger sees it in both rows: from `run` to the end, so its own start counts in neither.
        text = debugger.say(argv, "set startup-with-shell on", *commands, "source " + script)
        return float(re.search(r"took ([0-9.]+)", text).group(1))

    script = os.path.join(debugger.build, "bench_run.gdb")
    with open(script, "w", encoding="utf-8") as file:
        file.write(_RUN + "end\n")
    table("perf report: what it takes in GDB, with and without refhist", {
        "GDB alone": timed,
        "refhist track dso thread nsinfo, malloc followed": lambda: timed("refhist track dso thread nsinfo"),
    }, rounds)


def arming(debugger, rounds):
    """Every exported function of GLib, as gets of one family."""
    program = f"{debugger.build}/tests/sessions/session_glib_types"
    clock = 'python import time; begin = time.perf_counter()'
    told = 'python print("took %.6f" % (time.perf_counter() - begin))'
    taken = []
    for _ in range(rounds):
        text = debugger.say([program], "refhist set allocators off", "break main", "run", "refhist track GBytes", clock,
                            "refhist track --name all --get 'g_*' --put conn_put", told, "refhist status --json")
        found = re.search(r"took ([0-9.]+)", text)
        sites = [s for s in json.loads(text[text.index('{\n  "schema"') :])["sites"] if s["backend"] == "agent"]
        taken.append(float(found.group(1)) / len(sites) * 1000)
    print(f"\nArming {len(sites)} functions of GLib in the agent: {statistics.median(taken):.2f} s for each 1,000")


def main():
    arguments = options()
    debugger = Debugger(os.path.abspath(arguments.build))
    print(machine.line(debugger.gdb, debugger.lldb))
    print(f"{arguments.rounds} rounds; load at the start: {machine.load()}")
    pipeline(debugger, arguments.rounds)
    if arguments.perf:
        perf_report(debugger, arguments.perf, arguments.data, arguments.rounds)
    arming(debugger, arguments.rounds)


if __name__ == "__main__":
    main()
