"""A constructor that throws ends an object that nobody ever had a reference to."""

from harness.checks import equal
from harness.shapes import check_findings, objects


def test_nobody_is_accused(d):
    d.track("shared_ptr weak_ptr")
    d.track("malloc operator-new")
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(0)
    equal((d.printed("made"), d.printed("refused")), (4, 4), "what the program made")
    equal({thing["state"] for thing in objects(d, "--all")}, {"dead"}, "states")
    equal(check_findings(d), (0, []), "exit status and findings")
