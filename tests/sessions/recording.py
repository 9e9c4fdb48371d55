"""start, stop, reset, --stacks none, --exclude (on the program of events.c)."""

from harness.checks import contains, equal
from harness.shapes import counts, objects, roles

CONN = "--get conn_get --put conn_put --init conn_new --free conn_free --count refs"


def stop_at_first_checkpoint(d):
    d.break_at("checkpoint")
    d.run()
    d.expect_stop(function="checkpoint")


def test_pause(d):
    d.track_conn()
    stop_at_first_checkpoint(d)
    d.refhist("stop")
    d.cont()
    equal(roles(d.object("subject")), ["init", "get"], "events while paused")
    d.refhist("start")
    d.cont()
    subject = d.object("subject")
    equal(roles(subject)[-1], "put", "the last event")
    equal(subject["count"], 2, "count: the get that was not recorded is known from the counter")


def test_reset(d):
    d.track_conn()
    stop_at_first_checkpoint(d)
    d.refhist("reset")
    equal(objects(d, "--all"), [], "objects after reset")
    d.cont()
    subject = d.object("subject")
    equal((roles(subject), subject["complete"]), (["get"], False), "history after reset")


def test_stacks_none(d):
    d.track(CONN + " --stacks none")
    stop_at_first_checkpoint(d)
    subject = d.object("subject")
    equal(roles(subject), ["init", "get"], "events")
    equal([len(e["stack"]) for e in subject["events"]], [0, 0], "frames")


def test_excluded_caller(d):
    d.track(CONN + " --exclude take")
    d.break_at("give_back")
    d.run()
    d.cont()
    subject = d.object("subject")
    equal(roles(subject), ["init", "put"], "events")
    equal(counts(subject)[-1], (3, 2), "count of the put: the gets left out still count")


def test_status(d):
    d.track_conn()
    stop_at_first_checkpoint(d)
    text = d.refhist("status")
    for part in ("conn", "breakpoint" if d.backend == "breakpoint" else "agent"):
        contains(text, part, "status")
    totals = d.refhist_json("status")["totals"]
    equal((totals["events"], totals["objects"], totals["live"], totals["lost_events"]), (2, 1, 1, 0), "totals")
