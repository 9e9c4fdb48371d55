"""A lost object that handlers of signals are connected to is a leak; one that a handler was given is not."""

from harness.checks import agent_only, equal
from harness.shapes import check_findings, verdicts


def run(d, *arguments):
    d.refhist("set allocators auto")
    d.track("GObject")
    d.refhist("break-on-leak")
    d.run(*arguments)


def test_what_a_handler_was_given_is_held(d):
    run(d)
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


@agent_only("breakpoints follow no allocator, and then the tables of handlers hold what they list")
def test_lost_objects(d):
    run(d, "lose")
    d.expect_stop()
    status, found = check_findings(d)
    equal((status, verdicts(found), found[0]["alike"]), (23, ["leak"], 3), "exit status, verdicts and objects")


@agent_only("breakpoints follow no allocator, and then the tables of handlers hold what they list")
def test_what_its_own_handler_holds(d):
    run(d, "tie")
    d.expect_stop()
    status, found = check_findings(d)
    equal((status, verdicts(found), found[0]["alike"]), (23, ["leak"], 4), "exit status, verdicts and objects")
