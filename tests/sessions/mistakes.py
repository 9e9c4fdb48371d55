"""break-on-imbalance stops before the fatal call runs, in the thread that makes it, and says why in one line."""

from harness.checks import check, equal, matches
from harness.shapes import check_findings, verdicts

TRACK = "--init slot_new --get slot_get --put slot_put --put slot_drop --free slot_free --count refs"


def expect_mistake(d, name, function, caller, refs, reason, verdict):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    screen = d.run(name)
    d.expect_stop(function=function, caller=caller)
    equal(d.value("subject->refs"), refs, "the counter before the call runs")
    lines = [line for line in screen.splitlines() if f"{d.value('subject'):#x}" in line]
    check(lines, f"no line names the object:\n{screen}")
    matches(lines[0], reason, "the line that says why")
    subject = d.value("subject")
    d.cont()
    d.expect_exit(0)
    status, findings = check_findings(d)
    equal(status, 23, "exit status")
    check(verdict in verdicts(findings), f"no {verdict} among {verdicts(findings)}")
    equal({int(f["object"]["address"], 16) for f in findings}, {subject}, "objects of the findings")


def test_put_below_zero(d):
    expect_mistake(d, "over-put", "slot_drop", "over_put", 0, "(?i)put", "over-put")


def test_put_on_a_freed_object(d):
    expect_mistake(d, "put-after-free", "slot_put", "put_after_free", 0, "(?i)free", "use-after-free")


def test_get_on_a_freed_object(d):
    expect_mistake(d, "get-after-free", "slot_get", "get_after_free", 0, "(?i)free", "use-after-free")


def test_get_after_zero(d):
    expect_mistake(d, "resurrection", "slot_get", "resurrect", 0, "(?i)zero|dead|last", "resurrection")


def test_free_while_referenced(d):
    expect_mistake(d, "free-while-referenced", "slot_free", "free_referenced", 2, "(?i)reference",
                   "free-while-referenced")


def test_counter_that_moved_unobserved(d):
    expect_mistake(d, "unobserved-change", "slot_get", "change_unobserved", 4, "(?i)unobserved", "unobserved-change")


def test_nothing_to_say(d):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.run("clean")
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


def test_without_a_rule_it_is_recorded_only(d):
    d.track(TRACK)
    d.run("over-put")
    d.expect_exit(0)
    status, findings = check_findings(d)
    equal((status, verdicts(findings)), (23, ["over-put"]), "exit status and verdicts")


def test_unobserved_change_stands_in_the_history(d):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.run("unobserved-change")
    matches(d.refhist("subject"), r"(?i)unobserved", "history")
    equal(d.object("subject")["count"], 5, "count with the get that is about to run")
