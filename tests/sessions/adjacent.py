"""Sites within the bytes of each other's jumps: each execution is one event, and the program runs as it does alone."""

from harness.checks import check, equal
from harness.shapes import objects, role_totals, roles

ITEM = "--name item --get item_get --put item_put --count refs"
NODE = "--name node --get node_get --put node_put --count count"
CLOSE = 5  # at most: of each pair or three, all but the last are breakpoints


def start(d, *families):
    d.case.left_to_breakpoints = CLOSE
    for family in families:
        d.track(family)
    d.break_at("checkpoint")
    d.run()


def totals(d, family):
    every = [thing for thing in objects(d, "--all") if thing["family"] == family]
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")
    found = role_totals(every)
    return found.get("get", 0), found.get("put", 0)


def to_the_end(d):
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(7)


def test_one_family(d):
    start(d, ITEM)
    equal(totals(d, "item"), (50, 30), "gets and puts of the items")
    equal(d.object("first")["count"], d.value("first->refs"), "count")
    to_the_end(d)
    equal(totals(d, "item"), (100, 60), "at the end")


def test_two_families(d):
    start(d, ITEM, NODE)
    equal((totals(d, "item"), totals(d, "node")), ((50, 30), (20, 10)), "gets and puts")
    to_the_end(d)
    equal((totals(d, "item"), totals(d, "node")), ((100, 60), (40, 20)), "at the end")


def test_the_second_family_comes_later(d):
    start(d, ITEM)
    d.track(NODE)
    to_the_end(d)
    equal((totals(d, "item"), totals(d, "node")), ((100, 60), (20, 10)), "gets and puts")


def test_the_first_family_goes(d):
    start(d, ITEM, NODE)
    d.refhist("untrack item")
    to_the_end(d)
    equal((totals(d, "item"), totals(d, "node")), ((50, 30), (40, 20)), "gets and puts")


def test_stop_and_start(d):
    start(d, ITEM, NODE)
    d.refhist("stop")
    d.refhist("start")
    to_the_end(d)
    equal((totals(d, "item"), totals(d, "node")), ((100, 60), (40, 20)), "gets and puts")
