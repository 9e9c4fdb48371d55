"""A library out of the reach of the agent's code: followed by breakpoints, which status says, and the rest in the agent."""

import os

from harness.checks import contains, equal
from harness.shapes import objects, role_totals

LEFT_TO_BREAKPOINTS = 4  # conn_new, conn_get, conn_put and conn_free of the library


def test_both_sides(d):
    d.track_conn()
    d.refhist("break-on-imbalance")
    d.run(os.path.join(d.case.build, "tests/sessions/libsession_plugin.so"))
    d.expect_exit(14)
    equal(d.printed("far"), 1, "distance of the library")
    equal(role_totals(objects(d, "--all")), {"init": 2, "get": 4, "put": 6, "free": 2}, "events")
    if d.backend != "breakpoint":
        contains(d.refhist("status --sites"), "its module is too far from the agent", "status")
