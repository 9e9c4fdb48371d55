"""A put of which GCC inlined the head and kept the rest apart: executions are counted once, or said to be unseen."""

from harness.checks import contains, equal
from harness.shapes import objects, roles

TRACK = "--init node_new --get node_get --put node_put --count refs"


def test_the_whole_function_and_its_part_are_one_event(d):
    d.track(TRACK)
    d.run()
    d.expect_exit(0)
    (only,) = objects(d, "--all")
    equal((roles(only).count("get"), roles(only).count("put"), only["state"]), (5, 6, "dead"), "gets, puts, state")


def test_copies_are_listed(d):
    d.track(TRACK)
    d.break_at("checkpoint")
    d.run()
    text = d.refhist("status --sites")
    contains(text, "node_put.part.0", "status")
    contains(text, "inlined", "status")


def test_unseen_puts_are_no_mistake_of_the_program(d):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.run("inlined")
    d.expect_exit(0)
