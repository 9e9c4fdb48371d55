"""Children made by fork, posix_spawn and clone in a program with threads: both sides go on, and the parent's history is
whole."""

from harness.checks import IN_AGENT, agent_only, check, contains, equal, only_where
from harness.shapes import hits

COUNT = 10 if IN_AGENT else 2
OF_ONE_CHILD = 200  # gets


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
    contains(d.refhist("status"), f"the program forked {COUNT} times: what its children do is not recorded", "status")


# LLDB takes its breakpoints out of the parent's memory, too, until the child executes its program.
@only_where(lambda name: IN_AGENT or name == "gdb", "LLDB takes its breakpoints out of the parent's memory")
def test_posix_spawn(d):
    run(d, "spawn", False)


@agent_only("the debugger takes a breakpoint in memory that a child shares for its own")
def test_clone_in_the_same_memory(d):
    run(d, "clone", True)


@agent_only("the debugger takes a breakpoint in memory that a child shares for its own")
def test_clone_as_vfork_does(d):
    run(d, "clone-vfork", True)
