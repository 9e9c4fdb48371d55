"""A put that leaves an object without references alone: a get may take it again, unless its memory goes."""

from harness.checks import agent_only, check, equal
from harness.shapes import check_findings, objects, verdicts

PAGE = "--name page --init page_new --get page_get --put page_put --count refs"
PAGES, EVENTS = 8, 12  # memory, birth, four gets, five puts, free


def run(d, *arguments):
    d.refhist("set allocators auto")
    d.track(PAGE)
    d.run(*arguments)
    d.expect_exit(0)


@agent_only("the allocator is followed in the agent alone")
def test_taken_again(d):
    run(d)
    every = [thing for thing in objects(d, "--all") if thing["family"] == "page"]
    equal([len(thing["events"]) for thing in every], [EVENTS] * PAGES, "events of the pages")
    equal(check_findings(d), (0, []), "exit status and findings")


@agent_only("the allocator is followed in the agent alone")
def test_taken_while_its_last_put_frees_it(d):
    run(d, "race")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["resurrection"]), "exit status and verdicts")
    check("whose memory was freed" in found[0]["why"], found[0])
