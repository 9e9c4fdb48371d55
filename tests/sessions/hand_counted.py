"""track auto: a type that is counted by hand, without a function for it, and one that only looks like it."""

from harness.checks import check, contains, equal
from harness.shapes import check_findings, objects, role_totals, verdicts


def track(d):
    d.case.left_to_breakpoints = 100  # instructions that stand close together
    d.track("malloc")
    return d.track("auto")


def conns(d):
    return [thing for thing in objects(d, "--all") if thing["family"] == "conn"]


def test_it_is_found_and_told(d):
    text = track(d)
    contains(text, "conn_open (refs is counted by hand)", "track auto")
    check("stats" not in text, f"what nobody gives back is tracked: {text}")
    d.break_at("checkpoint")
    d.run()
    totals = role_totals(conns(d))
    equal([totals[role] for role in ("init", "get", "put")], [5, 10, 15], "events")


def test_a_right_program_has_no_finding(d):
    track(d)
    d.run()
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_leak(d):
    track(d)
    d.run("leak")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
    equal([event["count_after"] for event in found[0]["object"]["events"] if event["role"] == "put"], [2, 1], "puts")
