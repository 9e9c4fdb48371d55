"""break-on-leak: the program stops at its last moment, alive, and the leaked objects are named."""

import signal

from harness.checks import check, contains, equal, matches
from harness.shapes import called_from, leaks, objects, only


def check_leaks(d):
    group = only(leaks(d), "leak groups")
    equal((group["verdict"], len(group["objects"])), ("leak", 2), "verdict and number of leaked objects")
    for leaked in group["objects"]:
        called_from(leaked["born"], "forget")
        equal(leaked["state"], "live", "state of a leaked object")
    check(group["references"], "no reference is named")
    return group


def expect_stop_at_the_end(d, how, status):
    d.track_conn()
    d.refhist("break-on-leak")
    screen = d.run(how)
    d.expect_stop()
    matches(screen, r"(?i)leak", "the line that says why")
    check_leaks(d)
    d.cont()
    if status is not None:
        d.expect_exit(status)


def test_return_from_main(d):
    expect_stop_at_the_end(d, "return", 2)
    contains(d.output(), "atexit ran", "output")


def test_exit(d):
    expect_stop_at_the_end(d, "exit", 4)


def test_quick_exit(d):
    expect_stop_at_the_end(d, "quick_exit", 5)


def test__exit(d):
    expect_stop_at_the_end(d, "_exit", 6)


def test_end_of_the_last_thread(d):
    expect_stop_at_the_end(d, "thread", 0)


def test_atexit_handlers_ran_before(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run("exit")
    d.expect_stop()
    equal(d.value("singleton->refs"), 1, "a live object can be looked at")


def test_abort(d):
    expect_stop_at_the_end(d, "abort", None)


def test_fatal_signal(d):
    expect_stop_at_the_end(d, "signal", None)


def test_sigkill_leaves_the_recorded_events(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run("kill")
    d.expect_killed_by(signal.SIGKILL)
    check(objects(d), "no live objects after SIGKILL")
    matches(d.refhist("leaks"), r"(?i)process|recorded|ended", "what leaks says after SIGKILL")


def test_reachable_objects_are_only_counted(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run("exit")
    singleton = d.value("singleton")
    leaked = {int(o["address"], 16) for o in check_leaks(d)["objects"]}
    check(singleton not in leaked, "the object that a global holds is reported as leaked")
    equal(d.refhist_json("leaks")["reachable"], 1, "objects that are still reachable")
    every = {int(o["address"], 16) for group in leaks(d, "--reachable") for o in group["objects"]}
    check(singleton in every, "leaks --reachable does not list the object that a global holds")
    contains(d.refhist("leaks --reachable"), "held by singleton (session_leak_at_end_", "the holder")


def test_reachable_objects_stop_on_request(d):
    d.track_conn()
    d.refhist("break-on-leak --reachable")
    d.run("exit")
    d.expect_stop()


def test_without_clean_siblings(d):
    """No object born in `forget` was released clean: where the reference was taken and where the function leaves."""
    d.track_conn()
    d.refhist("break-on-leak")
    d.run("exit")
    equal([(s["function"], s["what"]) for s in check_leaks(d)["suspects"]], [("forget", "missing put")] * 2, "suspects")


def test_no_rule_no_stop(d):
    d.track_conn()
    d.run("exit")
    d.expect_exit(4)


def test_leaks_after_the_end(d):
    d.track_conn()
    d.run("exit")
    d.expect_exit(4)
    equal(len(objects(d)), 3, "live objects when the process ended")
