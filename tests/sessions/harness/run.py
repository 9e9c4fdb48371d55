"""Runs the tests of one script in one debugger: every function test_* gets a fresh debugger.

usage: run.py --debugger gdb|lldb --build DIR --script x.py --program PATH [--variant NAME] [--only test_x]
"""

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import traceback

HARNESS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HARNESS))

from harness.gdb_debugger import GdbDebugger  # noqa: E402
from harness.lldb_debugger import LldbDebugger  # noqa: E402

SECONDS_PER_TEST = 100  # the watchdog; ctest's own TIMEOUT comes later


class Case:
    """Where things are, for one test of a script."""

    def __init__(self, options, script, scratch):
        self.gdb = options.gdb
        self.lldb = options.lldb
        self.gdbserver = options.gdbserver
        self.lldb_server = options.lldb_server
        self.build = options.build
        self.plugin = options.plugin or os.path.join(options.build, "lldb_plugin", "librefhist_lldb.so")
        self.program = options.program
        self.variant = options.variant
        self.harness = HARNESS
        self.folder = os.path.dirname(os.path.abspath(options.script))
        self.scratch = scratch
        self.seconds = SECONDS_PER_TEST
        self.load_refhist = getattr(script, "LOAD_REFHIST", True)
        # With the agent: functions that cannot be patched, or whose results cannot be seen that way.
        self.left_to_breakpoints = getattr(script, "LEFT_TO_BREAKPOINTS", 0)


def load(path):
    spec = importlib.util.spec_from_file_location("session_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_test(options, script, test):
    scratch = tempfile.mkdtemp(prefix="refhist-session-")
    debugger = None
    try:
        kind = {"gdb": GdbDebugger, "lldb": LldbDebugger}[options.debugger]
        debugger = kind(Case(options, script, scratch))
        test(debugger)
        debugger.close()
        return True
    except Exception:  # whatever went wrong is a failed test, shown with what was on the screen
        traceback.print_exc(limit=-4)
        if debugger is not None:
            print("--- transcript ---", debugger.terminal.transcript, "--- end ---", sep="\n")
        return False
    finally:
        if debugger is not None:
            debugger.destroy()
        shutil.rmtree(scratch, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debugger", choices=["gdb", "lldb"], required=True)
    parser.add_argument("--gdb", default="/usr/bin/gdb")
    parser.add_argument("--lldb", default="/usr/bin/lldb-19")
    parser.add_argument("--gdbserver", default="/usr/bin/gdbserver")
    parser.add_argument("--lldb-server", default="/usr/bin/lldb-server-19")
    parser.add_argument("--build", required=True)
    parser.add_argument("--plugin", help="another plugin for LLDB than that of the build folder")
    parser.add_argument("--script", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--variant", default="")
    parser.add_argument("--only")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.program = os.path.abspath(options.program)

    script = load(options.script)
    tests = {n: f for n, f in vars(script).items() if n.startswith("test_") and options.only in (None, n)}
    if not tests:
        sys.exit(f"{options.script} has no such test")
    for name, test in list(tests.items()):
        if not getattr(test, "means_something", lambda debugger: True)(options.debugger):
            print(f"left out: {name}: {test.reason}", flush=True)
            del tests[name]
    if not tests:
        sys.exit("nothing is tested here: this entry should not be registered")
    failed = []
    for name, test in tests.items():
        passed = run_test(options, script, test)
        print(f"{'passed' if passed else 'FAILED'}: {name}", flush=True)
        if not passed:
            failed.append(name)
    if failed:
        sys.exit(f"{len(failed)} of {len(tests)} failed: {' '.join(failed)}")


if __name__ == "__main__":
    main()
