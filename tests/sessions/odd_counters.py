"""Counters and pointers of unusual kinds: nobody is accused, the program runs as it does alone, and a leak is found."""

from harness.checks import check, equal
from harness.shapes import check_findings, objects, verdicts

FAMILIES = ("--init value_new --get value_get --put value_put --count refs",
            "--init symbol_new --get symbol_get --put symbol_put --count refs",
            "--init surface_new --get surface_get --put surface_put --count refs",
            "--init mapping_new --get mapping_get --put mapping_put --count more",
            "--init window_new --get window_get --put window_put --count refs",
            "--get slot_get --put slot_put --count refs")
FAILING = "--fail-on leak,imbalance"


def run(d, *arguments):
    d.refhist("set allocators auto")
    d.track("malloc")
    for family in FAMILIES:
        d.track(family)
    d.refhist("break-on-leak")
    d.run(*arguments)


def test_nobody_is_accused(d):
    run(d)
    d.expect_exit(0)
    equal(d.printed("sum"), 1381, "what the program made")
    families = {thing["family"] for thing in objects(d, "--all")}
    equal(len(families), 6, f"families that were seen: {families}")
    status, found = check_findings(d, FAILING)
    check(set(verdicts(found)) <= {"unobserved-change", "undecidable"}, f"verdicts: {verdicts(found)}")
    equal(status, 0, "exit status")


def test_a_lost_object(d):
    run(d, "lose")
    d.expect_stop()
    status, found = check_findings(d, FAILING)
    failing = [finding for finding in found if finding["verdict"] == "leak"]
    equal((status, len(failing), len(failing[0]["object"]["events"]) if failing else 0), (23, 1, 4), "status, leaks and events")
