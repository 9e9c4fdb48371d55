"""Births that will be unseen are told by `track` before the first object is called incomplete."""

from harness.checks import check, contains, equal, lacks
from harness.shapes import objects

TRACK = "--init node_new --get node_get --put node_put"  # without a counter, inlined copies cannot be armed
RIVALS = "node_get and node_put change holders and users alike (give --count MEMBER)"
TOLD = "births in node_new (inlined, 1 copy) will not be seen, as it is not armed: every object will be incomplete"


def test_inlined_constructor_before_run(d):
    contains(d.track(TRACK), TOLD, "answer to track")
    contains(d.refhist("status"), TOLD, "status before run")
    d.run()
    d.expect_exit(0)
    every = objects(d, "--all")
    equal([o["complete"] for o in every], [False, False], "complete")
    contains(d.refhist("status"), TOLD, "status afterwards")
    (family,) = d.refhist_json("status")["families"]
    equal(family["births_note"], TOLD, "births_note")
    equal(family["counter_note"], RIVALS, "counter_note")


def test_inlined_constructor_while_the_program_is_stopped(d):
    d.break_at("main")
    d.run()
    contains(d.track(TRACK), TOLD, "answer to track")


def test_constructor_that_no_module_has(d):
    path = d.write_file("mine.toml", 'schema = 1\n[[family]]\nname = "node"\ncount = "holders"\n'
                                     'init = ["node_make"]\nget = ["node_get"]\nput = ["node_put"]\n')
    contains(d.track(f"--probes {path}"), "node_make is in no module loaded so far", "answer to track")


def test_no_constructor_given(d):
    answer = d.track("--get node_get --put node_put --count holders")
    contains(answer, "no function that creates objects is given", "answer to track")


def test_a_constructor_that_is_armed_needs_no_word(d):
    answer = d.track("--init main --get node_get --put node_put --count holders --name odd")
    lacks(answer, "incomplete", "answer to track")
    check(not d.refhist_json("status")["families"][0]["births_note"], "births_note is not empty")
