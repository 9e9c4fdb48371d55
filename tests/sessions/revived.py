"""A finaliser that takes its object back within the last put: right while the memory stays, as with a pool."""

from harness.checks import check, equal
from harness.shapes import check_findings, objects, role_totals, verdicts

FRAME = "--name frame --init frame_new --get frame_get --put frame_put --put frame_drop --count refs"
ORPHAN = "--name orphan --init orphan_new --get orphan_get --put orphan_put --count refs"


def expect_frames(d):
    every = [thing for thing in objects(d, "--all") if thing["family"] == "frame"]
    totals = role_totals(every)
    equal([len(every), totals["get"], totals["put"]], [d.printed(name) for name in ("made", "taken", "given")],
          "frames, gets and puts")
    equal([thing["state"] for thing in every], ["dead"], "their state")
    check(d.printed("revived") > 5, "the pool takes back")


def test_a_pool(d):
    d.track(FRAME)
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(0)
    expect_frames(d)
    equal(check_findings(d), (0, []), "exit status and findings")


def test_every_end_is_one(d):
    """Each put that takes the count to zero stops, also those after which the object lives on."""
    d.track(FRAME)
    d.refhist("break-on-put-to-zero")
    d.run()
    stops = 0
    while d.state()["state"] == "stopped":
        stops += 1
        d.cont()
    d.expect_exit(0)
    equal(stops, d.printed("revived") + d.printed("made"), "stops")


def test_memory_that_goes_nevertheless(d):
    d.track(ORPHAN)
    d.track("malloc")
    d.refhist("break-on-imbalance")
    d.run("wrong")
    check("free" in d.expect_stop()["frames"][0], "it stops where the memory goes")
    d.cont()
    d.expect_exit(0)
    status, findings = check_findings(d)
    equal((status, verdicts(findings)), (23, ["free-while-referenced"]), "exit status and verdicts")
