"""malloc's lists of free blocks are broken by the program's own mistake: the look at the heap ends, and what is wrong is told."""

from harness.checks import check, equal
from harness.shapes import check_findings, verdicts


def test_the_look_at_the_end_ends(d):
    d.track("--init box_new --put box_put --count refs")
    d.run()
    d.expect_exit(0)
    status, found = check_findings(d, "--fail-on leak,imbalance")
    equal(status, 23, "exit status")
    check("leak" in verdicts(found) and set(verdicts(found)) - {"leak", "undecidable"}, f"verdicts: {verdicts(found)}")
