"""Suspects: a function that drops what it has made on one path, and one that gives back twice before the object is used."""

from harness.checks import check, equal
from harness.shapes import check_findings, source_line

ENTRY = "--init entry_new --get entry_get --put entry_put --count refs"
PAGE = "--init page_new --get page_get --put page_put --count refs"


def suspect(finding, number):
    """What, function, and the comment that marks its line."""
    suspect = finding["suspects"][number]
    return suspect["what"], suspect["function"], source_line(suspect).rpartition("/* ")[2].rstrip("*/ ")


def test_dropped_on_one_path(d):
    d.track(ENTRY)
    d.run("lost")
    d.expect_exit(0)
    lost = d.printed("lost")
    leaks = [finding for finding in check_findings(d)[1] if finding["verdict"] == "leak"]
    equal(sum(finding["alike"] for finding in leaks), lost, "objects that were lost")
    for finding in leaks:
        told = [suspect(finding, number) for number in range(3)]
        check(("missing put", "obtain", "DROPPED") in told, f"the first three: {told}")


def test_given_back_twice_before_it_is_used(d):
    d.track(PAGE)
    d.track("malloc")
    d.run("twice")
    d.expect_exit()
    found = [finding for finding in check_findings(d)[1] if finding["verdict"] == "use-after-free"]
    equal({suspect(finding, 0) for finding in found}, {("extra put", "copy", "TWICE")}, "first suspects")
