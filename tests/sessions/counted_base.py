"""A family that names a class, and functions of a base class of it that lies behind another one: that part is the object."""

from harness.checks import contains, equal
from harness.shapes import check_findings, objects, role_totals, verdicts

SHEET = "--name sheet --init Counted::Counted --get Counted::add_ref --put Counted::release --type Sheet --count refs_"
COUNT = 24


def run(d, *way):
    d.track(SHEET)
    d.run(*way)
    d.expect_exit(0)


def test_right(d):
    run(d)
    totals = role_totals(objects(d, "--all"))
    equal([totals[role] for role in ("get", "put")], [COUNT, 2 * COUNT], "events")
    contains(d.refhist("status"), "its functions take a Counted, which a Sheet contains: that is the object", "status")
    equal(check_findings(d, "--fail-on leak,imbalance"), (0, []), "exit status and findings")


def test_leaked(d):
    run(d, "leaked")
    status, found = check_findings(d, "--fail-on leak,imbalance")
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
