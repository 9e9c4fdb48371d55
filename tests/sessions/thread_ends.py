"""Threads that end inside a watched call: it never returned, and what follows is still seen."""

import os

from harness.checks import equal
from harness.shapes import hits, only, objects

ROUNDS = 300 if os.environ.get("REFHIST_TEST_BACKEND") == "auto" else 5
TRACK = "--name conn --init conn_new --get conn_get --try-get conn_try --put conn_put --free conn_free --count refs"


def test_cancelled_and_left(d):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.break_at("checkpoint")
    d.run(str(ROUNDS))
    d.expect_stop(function="checkpoint")
    conn = only(objects(d), "live objects")
    roles = [event["role"] for event in conn["events"]]
    equal((roles.count("get"), roles.count("try_get"), roles.count("put")), (3 * ROUNDS, ROUNDS, 4 * ROUNDS), "events")
    equal((conn["count"], conn["complete"]), (1, True), "count, complete")
    d.cont()
    d.expect_exit(8)
    equal(hits(d.refhist_json("status"))["conn_try"], 3 * ROUNDS, "calls of conn_try")
