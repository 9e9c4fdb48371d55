"""Runs the tests of a module that has a harness of its own."""

import sys
import traceback


def run_each(module, only, attempt):
    """attempt(test) of each function test_…, or of the one of that name; then the process ends. 0: all passed, and there were some."""
    failed = []
    tests = [(name, test) for name, test in module.items() if name.startswith("test_") and only in (None, name)]
    for name, test in tests:
        try:
            attempt(test)
            print(f"passed: {name}", flush=True)
        except Exception:  # whatever it is, the other tests run
            traceback.print_exc()
            print(f"FAILED: {name}", flush=True)
            failed.append(name)
    sys.exit(1 if failed or not tests else 0)
