"""Counters that are bit-fields: their bits alone are the count, and what changes beside them is none."""

from harness.checks import check, contains, equal
from harness.shapes import check_findings, events_of, verdicts

ENTRY = "--init entry_new --get entry_get --put entry_put"
SYMBOL = "--init symbol_new --get symbol_take --put symbol_leave --count uses"


def track(d):
    d.case.left_to_breakpoints = 100  # short functions, and copies that stand close together
    d.track("malloc")
    d.track(ENTRY)
    d.track(SYMBOL)


def counts(d, family, role):
    return sorted({event["count_after"] for event in events_of(d, role, family)})


def test_the_bits_alone_are_the_count(d):
    track(d)
    d.break_at("checkpoint")
    d.run()
    contains(d.refhist("status"), "its counter is in refs of entry: entry_get and entry_put change it", "status")
    equal({role: counts(d, "entry", role) for role in ("init", "get", "put")},
          {"init": [1], "get": [2], "put": [0, 1]}, "counts of the entries")
    equal(counts(d, "symbol", "get"), [2], "counts of the symbols")
    equal(events_of(d, "unobserved"), [], "changes that were not observed")


def test_a_right_program_has_no_finding(d):
    track(d)
    d.run()
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_put_too_many(d):
    track(d)
    d.run("entry")
    status, found = check_findings(d)
    check(status == 23 and "use-after-free" in verdicts(found), f"{status}, {verdicts(found)}")
    equal({finding["object"]["family"] for finding in found}, {"entry"}, "families")


def test_a_leak_of_what_is_inlined(d):
    track(d)
    d.run("symbol")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
    equal(found[0]["object"]["count"], 1, "count")


def test_a_rule_sees_the_count(d):
    track(d)
    d.refhist("break-on-count --above 1 --family entry")
    contains(d.run(), "count 1 -> 2", "the line that says why")
