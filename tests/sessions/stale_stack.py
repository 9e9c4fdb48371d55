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


def test_while_it_runs_copies_below_the_stack_pointer_hold_nothing(d):
    d.track_conn()
    d.break_at("forget")
    d.run()
    d.finish()
    d.expect_stop(function="main")
    equal(only(leaks(d), "leak groups")["reach"], "unreachable", "reach")
