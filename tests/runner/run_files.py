"""Files and names of others: what refhist-run reads, writes and starts may be anything. usage: run_files.py --debugger gdb|lldb --build DIR
[--only test_x]"""

import json
import os
import shutil
import subprocess

from runner_harness import CONN, SESSIONS, check, contains, equal, main, page_data


def test_paths_with_blanks_and_quotes(r):
    """The program, the folder for temporary files, families and the history may have any name."""
    folder = os.path.join(r.folder, "my \"own\" dir's")
    os.makedirs(os.path.join(folder, "tmp $x"))
    program = shutil.copy(r.program("siblings_O1"), os.path.join(folder, "a prog"))
    probes = os.path.join(folder, "my 'fam\".toml")
    with open(probes, "w", encoding="utf-8") as file:
        file.write('schema = 1\n[[family]]\nname = "conn"\ncount = "refs"\ntype = "struct conn"\ninit = ["conn_new"]\nget = ["conn_get"]\n'
                   'put = ["conn_put"]\nfree = ["conn_free"]\n')
    history = os.path.join(folder, "a 'b\".rh")
    done = r.run(["--probes", probes, "--save", history, "--json", os.path.join(folder, "s .json")], [program],
                 env=dict(os.environ, TMPDIR=os.path.join(folder, "tmp $x")))
    check(os.path.exists(history), f"no history: {done.stderr}")
    with open(os.path.join(folder, "s .json"), encoding="utf-8") as file:
        session = json.load(file)
    equal(session["failed"], "", "why the session failed")
    check(session["totals"]["events"] > 0, "nothing was recorded")
    opened = subprocess.run([os.path.join(r.build, "bin", "refhist"), history], text=True, capture_output=True, timeout=60, check=False)
    equal(opened.returncode, 0, "refhist FILE")


def test_inputs_that_are_no_files(r):
    """A pipe that nobody writes is told of, not waited for."""
    pipe = r.file("pipe")
    os.mkfifo(pipe)
    for option in ("--suppressions", "--baseline", "--probes"):
        done = r.run([*([] if option == "--probes" else ["--track", CONN]), option, pipe], [r.program("siblings_O1")])
        contains(done.stderr, "not a regular file", option)
    opened = subprocess.run([os.path.join(r.build, "bin", "refhist"), pipe], text=True, capture_output=True, timeout=60, check=False)
    contains(opened.stderr, "not a regular file", "refhist FILE")


def test_links_are_not_followed(r):
    victim = r.write("victim", "untouched")
    for name in ("s.rh", "s.json", "s.rh.part"):
        os.symlink(victim, r.file(name))
    r.run(["--track", CONN, "--save", "s.rh", "--json", "s.json"], [r.program("siblings_O1")])
    with open(victim, encoding="utf-8") as file:
        equal(file.read(), "untouched", "a file that links lead to")
    check(not os.path.islink(r.file("s.rh")) and not os.path.islink(r.file("s.json")), "a link is still there")


def test_sources_of_an_opened_history(r):
    """A page of an opened history shows no file but those below the folder that its reader names."""
    r.run(["--track", CONN, "--save", "s.rh", "--html", "own.html"], [r.program("siblings_O1")])
    with open(r.file("own.html"), encoding="utf-8") as file:
        page = file.read()
    check(page_data(page)["findings"][0]["sources"], "no sources in the page of a session")
    contains(page, "Content-Security-Policy", "the page")
    program = os.path.join(r.build, "bin", "refhist")
    for options, wanted in (([], False), (["--source-root", SESSIONS], True), (["--source-root", r.folder], False)):
        subprocess.run([program, "s.rh", "export", "o.html", "--format", "html", *options], cwd=r.folder, check=True, stdout=subprocess.DEVNULL)
        with open(r.file("o.html"), encoding="utf-8") as file:
            equal(bool(page_data(file.read())["findings"][0]["sources"]), wanted, f"sources with {options}")


main(globals())
