"""What the tests of refhist-run share: a folder and a debugger for each, checks, the list of tests."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

SESSIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sessions")
sys.path.insert(0, SESSIONS)

from harness.checks import check, contains, equal, lacks  # noqa: E402, F401: for the tests

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


def in_a_browser(r, path):
    """The page as Chromium shows it, after its script has run; nothing where there is no Chromium."""
    browser = shutil.which("chromium")
    if browser is None:
        print("no chromium: the page is not looked at in a browser")
        return None
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={r.file('browser')}",
                           "--dump-dom", f"file://{path}"], text=True, capture_output=True, timeout=100, check=False)
    return done.stdout


def main(module):
    """Runs the functions test_… of a module, each with a Runner."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--debugger", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--only")
    options = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.path.join(options.build, "index-cache")  # the tests' own
    failed = []
    tests = [(name, test) for name, test in module.items() if name.startswith("test_") and options.only in (None, name)]
    for name, test in tests:
        folder = tempfile.mkdtemp(prefix="refhist-runner-test-")
        try:
            test(Runner(options.debugger, options.build, folder))
            print(f"passed: {name}", flush=True)
        except Exception:  # whatever it is, the other tests run
            traceback.print_exc()
            print(f"FAILED: {name}", flush=True)
            failed.append(name)
        finally:
            shutil.rmtree(folder)
    sys.exit(1 if failed or not tests else 0)
