"""An address that another thread has again at once: each life is an object of its own, whole and blameless."""

import os

from harness.checks import equal
from harness.shapes import check_findings, hits

ROUNDS = 20000 if os.environ.get("REFHIST_TEST_BACKEND") == "auto" else 50


def test_lives_are_not_mixed_up(d):
    d.track("--name pool --init pool_new --get conn_get --put pool_put --free pool_free --count refs")
    d.refhist("break-on-imbalance")
    d.run(str(ROUNDS))
    d.expect_exit(3)
    status = d.refhist_json("status")
    expected = {"pool_new": 2 * ROUNDS, "conn_get": 2 * ROUNDS, "pool_put": 4 * ROUNDS, "pool_free": 2 * ROUNDS}
    equal(hits(status), expected, "calls")
    totals = status["totals"]
    equal((totals["events"], totals["objects"], totals["live"], totals["lost_events"]),
          (10 * ROUNDS, 2 * ROUNDS, 0, 0), "events, objects, live, lost")
    equal(check_findings(d), (0, []), "findings")
