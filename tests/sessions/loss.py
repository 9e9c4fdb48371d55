"""Where the last pointer to a lost reference went, as a second run shows it: far from where it was taken."""

import json
import os

from harness.checks import check, contains, equal
from harness.machine import watchpoints_trigger
from harness.shapes import leaks, only

ITEM = "--name item --init item_new --get item_get --put item_put --type 'struct item' --count refs"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loss.c")


def line_lost(way):
    with open(SOURCE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if f"LOST {way} " in line)


def explanation(d, way):
    d.track(ITEM)
    d.run(way)
    d.expect_exit(0)
    return only(d.refhist_json("explain")["explanations"], "explanations")


def confirmed(d, way, function, what="missing put", label=None):
    told = explanation(d, way)
    equal(told["why_not"], "", "why nothing is confirmed")
    equal((told["confirmed"]["function"], told["confirmed"]["line"]), (function, line_lost(label or way)), "place")
    suspect = leaks(d)[0]["suspects"][0]
    equal((suspect["confidence"], suspect["line"], suspect["what"]), ("confirmed", line_lost(label or way), what), "first suspect")
    return told


def in_memory(d, way, function):
    """Where the memory that the pointer is in can be watched."""
    if watchpoints_trigger():
        confirmed(d, way, function)
        return
    contains(explanation(d, way)["why_not"], "hardware watchpoints do not trigger on this machine", "why nothing is confirmed")


def test_variable_overwritten(d):
    told = confirmed(d, "best", "best_of", "overwritten")
    contains(told["confirmed"]["why"], "and it is overwritten here", "reason")


def test_handed_to_who_drops_it(d):
    told = confirmed(d, "handed", "sink_push")
    contains(told["confirmed"]["why"], "and it is dropped here", "reason")
    use = told["lost"]["last_use"]
    check("item" in use["variables"], f"the variable is not named: {use}")


def test_freed_with_its_list(d):
    in_memory(d, "cells", "cells_free")


def test_block_that_leads_to_it(d):
    in_memory(d, "block", "listed")


def test_others_meanwhile(d):
    confirmed(d, "others", "handle")


def test_threads_that_run(d):
    confirmed(d, "threads", "handle", label="others")


def test_lost_before(d):
    """The last pointer goes in owner(), which is right."""
    told = explanation(d, "before")
    if told["confirmed"] is not None:
        equal(told["confirmed"]["line"], line_lost("before"), "line")


def test_follow(d):
    d.track(ITEM)
    d.run("handed")
    d.expect_exit(0)
    born = next(event["seq"] for event in d.object(leaks(d)[0]["objects"][0]["address"])["events"] if event["role"] == "init")
    path = os.path.join(d.case.scratch, "way.json")
    d.refhist(f"follow #{born} --lost --save {path}")
    d.run("handed")
    d.expect_exit(0)
    with open(path, encoding="utf-8") as file:
        way = json.load(file)
    equal((way["end"], way["function"], way["why_not"]), ("returned", "sink_push", ""), "the way")


def test_refused(d):
    d.track(ITEM)
    d.run("handed")
    d.expect_exit(0)
    born = next(event["seq"] for event in d.object(leaks(d)[0]["objects"][0]["address"])["events"] if event["role"] == "init")
    contains(d.refhist_error(f"follow #{born} --lost --through 12"), "--through needs FIRST-END", "one address")
    contains(d.refhist_error(f"follow #{born} --lost --through 0x20-0x10"), "the block is empty", "the wrong way round")
    contains(d.refhist_error(f"follow #{born} --through 0x10-0x20"), "--through needs --lost", "without it")
    contains(d.refhist_error(f"follow #{born} --lost --pointer"), "exclude each other", "both")
