"""The look at _exit while other threads sleep and run: what they hold is not leaked, what main has lost is."""

from harness.checks import contains, equal, lacks
from harness.shapes import called_from, leaks, only


def test_what_threads_hold_is_no_leak(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run()
    d.expect_exit(7)
    equal([g for g in leaks(d) if g["reach"] != "reachable"], [], "leaks")


def test_what_main_lost_is_one(d):
    d.track_conn()
    d.refhist("break-on-leak")
    contains(d.run("lose"), "1 object leaked", "the line that says why")
    d.expect_stop()
    lost = only([g for g in leaks(d) if g["reach"] == "unreachable"], "unreachable groups")
    equal((lost["verdict"], len(lost["objects"])), ("leak", 1), "verdict, objects")
    called_from(lost["references"][0], "lose")
    lacks(d.refhist("leaks"), "ran meanwhile", "a look at the stopped program")
