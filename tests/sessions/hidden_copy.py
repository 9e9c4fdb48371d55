"""An inlined copy that does nothing but step one counter is armed, wherever the compiler had the object's address."""

from harness.checks import equal
from harness.shapes import check_findings, objects, role_totals

COUNTER = "--name counter --init counter_set --get counter_get --put counter_put --type 'struct counter' --count refs"
REQUESTS = 20


def test_all_copies_are_armed(d):
    d.track(COUNTER)
    d.run()
    d.expect_exit(0)
    every = objects(d, "--all")
    totals = role_totals(every)
    equal([totals[role] for role in ("init", "get", "put")], [REQUESTS, REQUESTS, 2 * REQUESTS], "events")
    equal({thing["complete"] for thing in every}, {True}, "complete")
    equal(check_findings(d), (0, []), "exit status and findings")
