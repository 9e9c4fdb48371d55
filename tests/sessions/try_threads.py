"""A try_get is recorded at its return, and its effect is seen earlier by other threads: that is no unobserved change."""

from harness.checks import equal
from harness.shapes import objects, role_totals

# The loop of node_try_get begins within the bytes of a jump.
LEFT_TO_BREAKPOINTS = 1

TRACK = "--init node_new --try-get node_try_get --put node_put --count refs"


def test_no_false_alarm(d):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(0)
    totals = role_totals(objects(d, "--all"))
    equal((totals["try_get"], totals["put"]), (d.printed("gets"), d.printed("puts")), "gets, puts")
