"""The line that replaces a member's reference, and the one that uses what it has only looked up."""

from harness.checks import agent_only, contains, equal
from harness.shapes import check_findings, first_suspect, verdicts

THEME = "--init theme_new --get theme_get --put theme_put --type 'struct theme' --count refs"


def run(d, *arguments):
    d.refhist("set allocators auto")
    d.track("malloc")
    d.track(THEME)
    d.refhist("set quarantine auto")
    d.run(*arguments)


def test_right(d):
    run(d)
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_member_that_is_overwritten(d):
    d.refhist("break-on-leak")
    run(d, "overwritten")
    d.expect_stop()
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak", "leak"]), "exit status and verdicts")
    for finding in found:
        equal(first_suspect(finding), ("overwritten", "view_reset", 71), "the first suspect")
        why = finding["suspects"][0]["why"]
        contains(why, "view->theme may have a reference, and gets another pointer here", "why")
        others = [one for one in finding["suspects"][1:] if one["what"] == "overwritten"]
        equal(others, [], "other places that overwrite")


@agent_only("only the agent keeps freed memory away from the program")
def test_what_was_only_looked_up(d):
    run(d, "late")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["use-after-free"]), "exit status and verdicts")
    equal(first_suspect(found[0]), ("late use", "view_replace", 76), "the first suspect")
