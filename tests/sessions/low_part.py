"""Inlined gets that change the lower half of a counter: each is one event, and counts stay those of the whole counter."""

from harness.checks import equal
from harness.shapes import objects, role_totals, roles

ITEM = "--name item --get item_get --put item_put --init item_new --count refs"


def test_every_change(d):
    d.track(ITEM)
    d.break_at("checkpoint")
    d.run()
    every = objects(d, "--all")
    totals = role_totals(every)
    equal((len(every), totals["get"], totals["put"]), (10, 21, 30), "items, gets and puts")
    equal([roles(thing) for thing in every if "unobserved" in roles(thing)], [], "changes that were not observed")
    kept = d.object("kept")
    equal((kept["count"], d.value("kept->refs")), (1, 1), "count of the item that is kept")
    equal([(event["count_before"], event["count_after"]) for event in kept["events"] if event["role"] == "get"], [(1, 2), (2, 3), (1, 2)], "counts")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(7)


def test_stop_at_zero(d):
    d.track(ITEM)
    d.refhist("break-on-put-to-zero")
    d.run()
    for number in (0, 1, 2, 4, 5, 6, 7, 8, 9):
        equal(d.value("current->number"), number, "item that dies")
        d.cont()
    d.expect_exit(7)
