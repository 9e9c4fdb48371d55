"""At the end of the process the frames of exit() and what lies below main are dead: they hold no object."""

from harness.checks import equal
from harness.shapes import check_findings, leaks, only


def test_stop_and_leaks_agree(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run()
    d.expect_stop()
    equal(only(leaks(d), "leak groups")["reach"], "unreachable", "reach")


def test_check_agrees(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run()
    d.expect_stop()
    status, findings = check_findings(d, "--fail-on leak")
    equal((status, [f["verdict"] for f in findings]), (23, ["leak"]), "exit status and findings")
