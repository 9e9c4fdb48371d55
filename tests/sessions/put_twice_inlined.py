"""A put that finds zero, inlined into the function that frees the memory later, is one too many."""

from harness.checks import contains, equal
from harness.shapes import check_findings, only, source_line

ITEM = "--name item --init item_new --get item_get --put item_put --type 'struct item' --count refs"


def run(d, *arguments):
    d.track(ITEM)
    d.run(*arguments)
    d.expect_exit(0)


def test_one_too_many(d):
    run(d, "wrong")
    status, found = check_findings(d)
    finding = only(found, "findings")
    equal((status, finding["verdict"]), (23, "over-put"), "status, verdict")
    contains(source_line(finding["suspects"][0]), "item_put", "suspect")


def test_right(d):
    run(d)
    equal(check_findings(d), (0, []), "exit status and findings")
