"""The HTML page in Chromium: what is in it once its script has run. usage: page.py --debugger gdb|lldb --build DIR"""

import json
import os
import re
import subprocess
import sys

from runner_harness import CONN, SESSIONS, contains, equal, main, many_objects


def shown(r):
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={r.file('browser')}",
                           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
                           "--dump-dom", "file://" + r.file("s.html")], text=True, capture_output=True, timeout=100, check=False)
    equal(done.returncode, 0, f"status of chromium ({done.stderr})")
    return done.stdout


def test_leak(r):
    r.run(["--track", CONN, "--html", "s.html", "--source-root", SESSIONS], [r.program("siblings_O1"), "</script><b>"])
    page = shown(r)
    contains(page, "Findings: 1<", "page")
    contains(page, "missing put in close_conn", "page")
    contains(page, "Objects: 23<", "page")
    equal(len(re.findall(r"<circle cx=\"[0-9]", page)), 4, "events on the timeline")


def test_many_objects(r):
    """The page shows the first ones."""
    many_objects(r)
    page = shown(r)
    contains(page, "Objects: 10000<", "page")
    contains(page, "show 1000 more", "page")


def choice_of_processes(r):
    program = os.path.join(r.build, "tests", "runner", "runner_forking")
    r.run(["--children", "--track", CONN, "--json", "s.json", "--html", "s.html"], [program, "leak", "3"])
    session = json.loads(open(r.file("s.json"), encoding="utf-8").read())
    page = shown(r)
    contains(page, f"in process {session['findings'][0]['processes'][0]} ", "page")
    contains(page, f">{session['children'][-1]['pid']} ", "choice of processes")


if "gdb" in sys.argv:  # LLDB does not follow children, and runner.children.lldb sees that this is said
    test_choice_of_processes = choice_of_processes
main(globals())
