"""Threads that live for microseconds: none of their events is lost, and their ends are seen."""

import os

from harness.checks import equal
from harness.shapes import hits

COUNT = 10000 if os.environ.get("REFHIST_TEST_BACKEND") == "auto" else 100


def test_every_event_of_every_thread(d):
    d.track_conn()
    d.refhist("break-on-imbalance")
    d.run(str(COUNT))
    d.expect_exit(7)
    status = d.refhist_json("status")
    expected = {"conn_new": COUNT, "conn_get": COUNT, "conn_put": 2 * COUNT, "conn_free": COUNT}
    equal(hits(status), expected, "calls")
    totals = status["totals"]
    equal((totals["events"], totals["objects"], totals["live"]), (5 * COUNT, COUNT, 0), "events, objects, live ones")
