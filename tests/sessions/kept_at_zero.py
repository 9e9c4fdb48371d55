"""An object that begins at zero and stands at zero again between two uses: a get is no mistake until its memory is gone."""

from harness.checks import agent_only, check, equal
from harness.shapes import check_findings, objects, role_totals, verdicts

TILE = "--name tile --init tile_new --get tile_get --put tile_put --count refs --born 0"


def test_taken_again(d):
    d.track(TILE)
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(0)
    every = [thing for thing in objects(d, "--all") if thing["family"] == "tile"]
    totals = role_totals(every)
    equal((totals["get"], totals["put"]), (d.printed("taken"), d.printed("taken")), "gets and puts")
    check(d.printed("made") < d.printed("taken"), "none was taken again")
    equal(check_findings(d), (0, []), "exit status and findings")


@agent_only("the allocator is followed in the agent alone")
def test_memory_that_was_given_back(d):
    d.track(TILE)
    d.track("malloc")
    d.run("wrong")
    d.expect_exit()
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["use-after-free"]), "exit status and verdicts")
