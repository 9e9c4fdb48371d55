"""What the tests of refhist-run share: a folder and a debugger for each, checks, the list of tests."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

SESSIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sessions")
sys.path.insert(0, SESSIONS)

from harness.checks import check, contains, equal, lacks  # noqa: E402, F401: for the tests
from harness.each_test import run_each  # noqa: E402

CONN = "--init conn_new --get conn_get --put conn_put --free conn_free --count refs"


class Runner:
    """refhist-run with one debugger, in a folder of its own."""

    def __init__(self, debugger, build, folder):
        self.debugger, self.build, self.folder = debugger, build, folder
        self.path = os.path.join(build, "bin", "refhist-run")

    def program(self, name):
        return os.path.join(self.build, "tests", "sessions", f"session_{name}")

    def argv(self, options, program):
        return [self.path, "--debugger", self.debugger, *options, "--", *program]

    def run(self, options, program, **more):
        done = subprocess.run(self.argv(options, program), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.folder, timeout=120, check=False, **{"stdin": subprocess.DEVNULL, **more})
        return done

    def start(self, options, program, **more):
        return subprocess.Popen(self.argv(options, program), text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, cwd=self.folder, **{"stderr": subprocess.PIPE, **more})

    def file(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.file(name)

    def read_json(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return json.load(file)


def python(code):
    return ["/usr/bin/python3", "-c", code]


def page_data(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def many_objects(r):
    """Makes s.html of a program with ten thousand objects, of which it loses every second one."""
    r.write("many.c", '#include "conn.h"\nstruct conn *kept[10000];\nint main(void) {\n  for (int i = 0; i < 10000; i++) kept[i] = conn_new(i);\n'
            "  for (int i = 0; i < 10000; i += 2) kept[i] = 0;\n  return 0;\n}\n")
    subprocess.run(["gcc", "-g", "-O1", "-I", SESSIONS, "many.c", os.path.join(SESSIONS, "conn.c"), "-o", "many"], cwd=r.folder, check=True)
    r.run(["--track", CONN, "--html", "s.html"], [r.file("many")])


def main(module):
    """Runs the functions test_… of a module, each with a Runner."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--debugger", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--only")
    options = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.path.join(options.build, "index-cache")  # the tests' own

    def attempt(test):
        with tempfile.TemporaryDirectory(prefix="refhist-runner-test-") as folder:
            test(Runner(options.debugger, options.build, folder))

    run_each(module, options.only, attempt)
