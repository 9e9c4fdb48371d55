"""Children made by fork, posix_spawn and clone in a program with threads: both sides go on, and the parent's history is
whole."""

import os

from harness.checks import check, contains, equal
from harness.shapes import hits

IN_AGENT = os.environ.get("REFHIST_TEST_BACKEND") == "auto"
COUNT = 10 if IN_AGENT else 2
OF_ONE_CHILD = 5  # gets


def run(d, how, shares_memory):
    d.follow_fork("parent")
    d.track_conn()
    d.refhist("break-on-imbalance")
    d.run(how, str(COUNT))
    d.expect_exit(4)
    equal(d.printed("good"), COUNT, "children that ended well")
    status = d.refhist_json("status")
    calls, totals = hits(status), status["totals"]
    # A child in the parent's memory is recorded with it.
    of_children = COUNT * OF_ONE_CHILD if shares_memory else 0
    equal(calls["conn_get"], d.printed("gets") + of_children, "gets")
    equal((calls["conn_put"], totals["live"]), (calls["conn_get"] + calls["conn_new"], 0), "puts, live objects")
    equal(totals["lost_events"], 0, "lost events")
    check(calls["conn_new"] > 0, "no object")


def test_fork(d):
    run(d, "fork", False)
    equal(d.refhist_json("status")["totals"]["forks"], COUNT, "forks")
    contains(d.refhist("status"), f"the program forked {COUNT} times: what its children do is not seen", "status")


def test_posix_spawn(d):
    # LLDB takes its breakpoints out of the parent's memory, too, until the child executes its program.
    if IN_AGENT or d.name == "gdb":
        run(d, "spawn", False)


def test_clone_in_the_same_memory(d):
    if IN_AGENT:
        run(d, "clone", True)


def test_clone_as_vfork_does(d):
    if IN_AGENT:
        run(d, "clone-vfork", True)
