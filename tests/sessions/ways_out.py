"""The way out of a function on which it does not give back what it has is the first suspect, by its line."""

import os

from harness.checks import check, contains, equal, lacks
from harness.shapes import check_findings, leaks, only, source_line

PAGE = "--name page --init page_new --get page_get --put page_put --type 'struct page' --count refs"
WAY = "this exit path of"


def lost(d, mode):
    d.track(PAGE)
    d.refhist("break-on-leak")
    d.run(mode)
    d.expect_stop()
    return only(leaks(d), "leaks")["suspects"]


def blamed(d, mode, *confidence):
    """`confidence`: what the suspect may be told as."""
    suspects = lost(d, mode)
    first = suspects[0]
    told = [(suspect["function"], suspect["line"], suspect["why"]) for suspect in suspects]
    check(f"lost: {mode}" in source_line(first), f"the first of {told} is at: {source_line(first)}")
    contains(first["why"], WAY, "why")
    equal(first["what"], "missing put", "what")
    check(first["confidence"] in confidence, f"{first['confidence']}, not one of {confidence}")


def test_right(d):
    d.track(PAGE)
    d.run()
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


def test_an_error_on_which_it_returns(d):
    blamed(d, "error", "named")


def test_what_a_caller_has_handed_over(d):
    blamed(d, "late", "candidate")


def test_what_comes_through_an_argument(d):
    blamed(d, "handed", "named", "candidate")


def test_the_next_one_of_a_loop(d):
    blamed(d, "loop", "named")


def test_a_loop_that_gets_them_in_several_ways(d):
    d.track(PAGE)
    d.refhist("break-on-leak")
    d.run("picked")
    d.expect_stop()
    for leak in leaks(d):
        first = leak["suspects"][0]
        check("lost: picked" in source_line(first), f"the first is at: {source_line(first)} ({first['why']})")


def test_an_inlined_function(d):
    blamed(d, "inlined", "named", "candidate")


def test_a_branch_around_the_put(d):
    blamed(d, "only", "candidate")


def test_another_variable_gets_it(d):
    first = lost(d, "best")[0]
    check(first["confidence"] == "candidate" or "lost: best" in source_line(first), f"named at: {source_line(first)}")


def test_a_function_that_keeps_it_leaves_right(d):
    for suspect in lost(d, "kept"):
        lacks(suspect["function"], "keep_or_put" if WAY in suspect["why"] else "\n", "the ways out")


def test_the_same_when_the_file_is_opened(d):
    before = lost(d, "error")
    path = os.path.join(d.case.scratch, "history.rh")
    d.refhist(f"save {path}")
    d.kill()
    d.refhist(f"open {path}")
    equal([(s["function"], s["line"]) for s in only(leaks(d), "leaks")["suspects"]],
          [(s["function"], s["line"]) for s in before], "suspects")
