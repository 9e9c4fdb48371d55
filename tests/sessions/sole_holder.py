"""Memory that the only holder gives back without a put is no mistake; with another reference out it is one."""

from harness.checks import check, equal
from harness.shapes import check_findings, objects, verdicts

SHEET = "--init sheet_new --init sheet_init --get sheet_get --put sheet_put --count refs"
STREAM = "--name Counted --init Counted::Counted --get Counted::get --put Counted::put --count references"


def track(d):
    d.refhist("set allocators auto")
    d.track("malloc operator-new")
    d.track(SHEET)
    d.track(STREAM)
    d.refhist("break-on-imbalance")


def test_nobody_is_accused(d):
    track(d)
    d.run()
    d.expect_exit(0)
    equal((d.printed("made"), d.printed("given")), (15, 7), "what the program made and gave back")
    equal({thing["state"] for thing in objects(d, "--all")}, {"dead"}, "states")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_reference_that_is_out(d):
    track(d)
    d.run("wrong")
    frames = d.expect_stop()["frames"]
    check("free" in frames[0], f"it stops where the memory goes, not in {frames[:2]}")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["free-while-referenced"]), "exit status and verdicts")
