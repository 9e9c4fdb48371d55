"""Objects that went back to their pool unseen are not called leaked: their counters say that something happened."""

from harness.checks import contains, equal
from harness.shapes import check_findings, leaks, only


def test_only_the_leak_is_a_leak(d):
    d.track("--init node_new --get node_get --put node_put --count refs")
    d.refhist("break-on-leak")
    said = d.run()
    contains(said, "1 object leaked: 1 node; ", "the line that says why")
    contains(said, "undecidable: 3 objects: the counter reads 23130 where the events say 1", "the line that says why")
    d.expect_stop()
    groups = leaks(d)
    equal(sorted((g["verdict"], len(g["objects"])) for g in groups), [("leak", 1), ("undecidable", 3)], "groups")
    unknown = only([g for g in groups if g["verdict"] == "undecidable"], "undecidable groups")
    contains(unknown["why"], "the counter reads 23130 where the events say 1", "why")


def test_what_follows_unseen_ends_is_no_leak(d):
    """The last one is gone like those before it: its counter reads 1 because it is another's."""
    d.track("--init node_new --get node_get --put node_put --count refs")
    d.run("again")
    d.expect_exit(0)
    status, findings = check_findings(d)
    equal((status, [finding["verdict"] for finding in findings]), (23, ["undecidable"]), "exit status and findings")
    contains(findings[0]["why"], "the ends of 3 objects of the family were not seen", "why")
