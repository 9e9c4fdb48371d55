"""refhist-run with a database, in one debugger. usage: run_tests.py --build DIR --debugger gdb|lldb"""

import os

from fleet_harness import contains, equal, lacks, main

CLEAN = "session_lifecycle_O1"


def program(f, name):
    return [os.path.join(f.build, "tests", "sessions", name)]


def test_sent(f):
    done = f.refhist_run(["--commit", "c1", "--branch", "main", "--label", "os=debian", "--run-name", "unit"])
    equal(done.returncode, 23, done.stderr)
    contains(done.stderr, "refhist-run: sent as run", "report")
    contains(done.stderr, "1 finding, 1 new to the project", "report")
    run = f.ask("runs")["runs"][0]
    equal((run["name"], run["commit"], run["branch"], run["labels"], run["debugger"], run["exit_status"], run["complete"]),
          ("unit", "c1", "main", {"os": "debian"}, f.debugger, 0, True), "run")
    finding = f.ask("findings")["findings"][0]
    contains(f.says("show", finding["fingerprint"]), "suspect (candidate): missing put", "as refhist leaks shows it")


def test_a_second_run_is_no_run(f):
    """The program runs twice for --explain."""
    contains(f.refhist_run(["--explain"]).stderr, "sent as run", "report")
    equal(len(f.ask("runs")["runs"]), 1, "runs")
    lacks(f.refhist_run(["--no-send"]).stderr, "sent", "report")
    equal(len(f.ask("runs")["runs"]), 1, "runs")


def test_the_status_stays(f):
    f.server.halt()
    equal(f.refhist_run([]).returncode, 23, "with findings")
    done = f.refhist_run(["--propagate-exit"], program(f, CLEAN))
    equal(done.returncode, 3, done.stderr)
    done = f.refhist_run(["--quiet"], program(f, CLEAN))
    equal((done.returncode, len(done.stderr.splitlines())), (0, 1), done.stderr)
    contains(done.stderr, "refhist-run: not sent: the database cannot be reached", "one line")
    equal(len(f.waiting()), 3, "spool")
    f.server.start()
    contains(f.refhist_run([]).stderr, "3 runs that waited sent along", "report")
    equal(f.ask("findings")["runs"], 4, "runs")


def test_new_against(f):
    f.refhist_run(["--branch", "main"])
    done = f.refhist_run(["--branch", "side", "--new-against", "main"])
    equal(done.returncode, 0, done.stderr)
    contains(done.stderr, "1 known from branch main", "report")
    done = f.refhist_run(["--branch", "side", "--new-against", "none"])
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "the project p has no runs on the branch none yet", "report")


def test_new_against_with_the_database_away(f):
    f.refhist_run(["--baseline", "known.json", "--update-baseline"])
    f.server.halt()
    done = f.refhist_run(["--new-against", "main", "--baseline", "known.json"])
    equal(done.returncode, 0, done.stderr)
    contains(done.stderr, "known.json is taken instead", "report")
    done = f.refhist_run(["--new-against", "main"])
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "what branch main has is not known: the database cannot be reached", "report")
    f.server.start()


def test_new_finding_against(f):
    f.refhist_run(["--branch", "main"], program(f, CLEAN))
    done = f.refhist_run(["--branch", "side", "--new-against", "main"])
    equal(done.returncode, 23, done.stderr)
    lacks(done.stderr, "known from", "report")


def test_wrong_usage(f):
    for options, told in [(["--send", "postgresql://u:secret@h/d"], "can read a password"), (["--label", "x"], "KEY=VALUE"),
                          (["--send-history", "some"], "always, on-findings or never"),
                          (["--new-against", "main", "--baseline", "x", "--update-baseline"], "leave out --new-against")]:
        done = f.refhist_run(options)
        equal((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        contains(done.stderr, told, "answer")
        lacks(done.stderr, "secret", "the password")


main(globals())
