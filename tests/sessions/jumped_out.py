"""Signal handlers that jump out of the agent, or of a probed function: what comes after is recorded as ever."""

from harness.checks import IN_AGENT, check, equal
from harness.shapes import called_from, counts, roles

MANY = 20000 if IN_AGENT else 10  # more than a ring of the agent holds
PAIRS = 50


def check_subject(d, *arguments):
    for name in ("SIGSEGV", "SIGPROF"):
        d.pass_signal(name)
    d.track_conn()
    d.break_at("checkpoint")
    d.run(str(MANY), *arguments)
    d.expect_stop(function="checkpoint")
    status = d.refhist_json("status")
    equal(status["totals"]["lost_events"], 0, "lost events")
    subject = d.object("subject")
    told = roles(subject)
    equal((told[0], told.count("get"), told.count("put"), len(told)), ("init", PAIRS, PAIRS, 2 * PAIRS + 1), "its events")
    equal(subject["count"], 1, "its count")
    d.cont()
    d.expect_exit(3)
    equal(d.printed("faults"), 6, "puts of what is gone")


def test_after_faults(d):
    check_subject(d)


def test_stopped_at_faults(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run(str(MANY))
    for faults in range(1, 7):
        frames = d.expect_stop(signal="SIGSEGV")["frames"]
        check({"put_at_depth", "put_what_is_gone", "main"} <= set(frames), f"backtrace: {frames}")
        told = d.object("gone")
        equal(roles(told), ["put"] * faults, "calls of what is gone")
        called_from(told["events"][-1], "put_what_is_gone")
        equal(counts(told)[-1], (None, None), "counts")
        d.cont()
    d.expect_stop(function="checkpoint")
    equal(len(d.object("gone")["events"]), 6, "calls of what is gone, once they have been left")
    equal(len(d.object("subject")["events"]), 2 * PAIRS + 1, "events of the subject")
    d.cont()
    d.expect_exit(3)


def test_after_a_storm(d):
    if IN_AGENT:  # with a stop at each call a program gets nowhere between such signals
        check_subject(d, "storm")
