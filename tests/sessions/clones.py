"""Functions of which the compiler made several copies: each execution is counted once, never twice."""

from harness.checks import contains, equal, lacks, matches
from harness.shapes import check_findings, functions, objects, roles, verdicts


def test_counted_once(d):
    d.track("--init node_new --get node_get --put node_put --put node_release --count refs")
    d.break_at("checkpoint")
    d.run()
    subject = d.object("subject")
    equal(roles(subject).count("get"), d.printed("gets"), "gets")
    equal(roles(subject).count("put"), d.printed("puts"), "puts")
    equal(subject["count"], d.value("subject->refs"), "count")


def test_inlined_copies_are_listed(d):
    d.track("--init node_new --get node_get --get node_hold --put node_put --put node_release --count refs")
    d.break_at("checkpoint")
    d.run()
    text = d.refhist("status --sites")
    contains(text, "node_hold", "status")
    matches(text, "(?i)inline", "status")


def test_a_family_with_unseen_copies_is_not_accused(d):
    """The get that is inlined in main is not seen: its change is unobserved, no mistake of the program."""
    d.track("--init node_new --get node_get --get node_hold --put node_put --put node_release --count refs")
    d.refhist("break-on-imbalance")
    d.run("hold")
    d.expect_exit(0)
    status, findings = check_findings(d, "--fail-on unobserved-change")
    equal((status, verdicts(findings)), (23, ["unobserved-change"]), "exit status and findings")
    (why,) = [finding["why"] for finding in findings]
    contains(why, "node_hold inlined in main", "the hint where the change may have been")
    lacks(why, "node_put", "the hint for a count that rose")


def test_a_maker_that_returns_nothing_any_more(d):
    d.track("--init node_list --get node_get --put node_put --count refs")
    d.break_at("checkpoint")
    d.run()
    born = [thing for thing in objects(d, "--all") if thing["born"] is not None]
    equal([functions(thing["born"])[0].split(".")[0] for thing in born], ["node_list"] * 3, "births")
    d.object("listed")
    lacks(d.refhist("status --sites"), "does not return its object", "sites")


def test_a_maker_tells_the_counter(d):
    """No function here is handed the object and takes a reference."""
    d.track("--init node_list --put node_put")
    d.break_at("checkpoint")
    d.run()
    contains(d.refhist("status"), "its counter is in refs of", "status")
    equal(d.object("listed")["count"], d.value("listed->refs"), "count")
