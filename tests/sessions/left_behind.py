"""The line at which what holds a reference is freed, and the reference is not given back."""

from harness.checks import contains, equal
from harness.shapes import check_findings, first_suspect, verdicts

THEME = "--init key_new --get key_get --put key_put --type 'struct key' --count refs"


def run(d, *arguments):
    d.refhist("set allocators auto")
    d.track("malloc")
    d.track(THEME)
    d.run(*arguments)


def test_right(d):
    run(d)
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_member_of_what_a_wrapper_frees(d):
    run(d, "user")
    d.expect_exit()
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
    equal(found[0]["alike"], 6, "objects")
    equal(first_suspect(found[0]), ("missing put", "user_drop", 61), "the first suspect")
    contains(found[0]["suspects"][0]["why"], "user->key has the reference; user_drop destroys its holder here without giving it back", "why")


def test_a_member_of_what_free_frees(d):
    run(d, "session")
    d.expect_exit()
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
    equal(first_suspect(found[0]), ("missing put", "session_drop", 86), "the first suspect")
