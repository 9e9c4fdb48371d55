"""The way by which a reference was lost, as a second run shows it."""

import json
import os
import re

from harness.checks import check, contains, equal, matches
from harness.machine import watchpoints_trigger
from harness.shapes import leaks, only

ITEM = "--name item --init item_new --get item_get --put item_put --type 'struct item' --count refs"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "explain.c")


def line_lost(way):
    with open(SOURCE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if f"LOST {way} " in line)


def run_to_end(d, *arguments):
    d.track(ITEM)
    d.run(*arguments)
    d.expect_exit(0)


def confirmed(d, way):
    run_to_end(d, way)
    told = only(d.refhist_json("explain")["explanations"], "explanations")
    equal(told["why_not"], "", "why nothing is confirmed")
    equal(told["confirmed"]["line"], line_lost(way), "line")
    # From then on, every report says so.
    suspect = only(leaks(d), "leaks")["suspects"][0]
    equal((suspect["confidence"], suspect["line"]), ("confirmed", line_lost(way)), "first suspect")
    check(any(step["line"] == line_lost(way) for step in suspect["way"]), f"the way of the suspect lacks the line: {suspect['way']}")
    return told


def test_early_return(d):
    told = confirmed(d, "early")
    equal(told["function"], "handle", "function")
    kept = next(way for way in told["kept"] if way["function"] == "handle")
    check(any(event["role"] == "put" for step in kept["steps"] for event in step["events"]), f"no put on the way that gave back: {kept}")


def test_after_quarantine(d):
    """It puts objects elsewhere in each run."""
    d.refhist("set quarantine 64M")
    confirmed(d, "early")


def says_why_not(d, way):
    """Where the memory that the pointer is in cannot be watched."""
    run_to_end(d, way)
    told = only(d.refhist_json("explain")["explanations"], "explanations")
    contains(told["why_not"], "hardware watchpoints do not trigger on this machine", "why nothing is confirmed")
    equal(told["confirmed"], None, "confirmed")


def test_overwritten(d):
    if not watchpoints_trigger():
        says_why_not(d, "slot")
        return
    told = confirmed(d, "slot")
    contains(told["confirmed"]["why"], "put something else there", "reason")


def test_freed_with_the_pointer_in_it(d):
    if not watchpoints_trigger():
        says_why_not(d, "freed")
        return
    told = confirmed(d, "freed")
    contains(told["confirmed"]["why"], "until peer_free freed that memory", "reason")


def test_inlined(d):
    told = confirmed(d, "inlined")
    equal(told["function"], "handle_here", "function")


def test_round_of_a_loop(d):
    confirmed(d, "round")


def test_handed_to_the_caller(d):
    told = confirmed(d, "result")
    equal(told["confirmed"]["function"], "look_up", "function")


def test_moved_in_memory(d):
    (confirmed if watchpoints_trigger() else says_why_not)(d, "moved")


def test_text(d):
    run_to_end(d, "early")
    text = d.refhist("explain")
    matches(text, r"(?m)^ +-> +\d+ +return -1;", "the mark")
    contains(text, "confirmed: missing put in handle", "report")
    fingerprint = re.search(r"\[([0-9a-f]{16})\]", d.refhist("check --stay"))[1]
    contains(d.refhist(f"explain {fingerprint}"), "confirmed: missing put in handle", "by its fingerprint")


def test_the_session_stays(d):
    """A stop, breakpoints and the history are as they were."""
    d.track(ITEM)
    d.refhist("break-on-leak")
    d.run("early")
    d.expect_stop()
    before = d.refhist("status --json")
    contains(d.refhist("explain"), "confirmed: missing put in handle", "report")
    equal(d.refhist("status --json"), before, "status")
    d.cont()
    d.expect_exit(0)


def test_refused(d):
    contains(d.refhist_error("explain"), "nothing was recorded", "before anything")
    run_to_end(d, "early")
    contains(d.refhist_error("explain 0123456789abcdef"), "no finding has the fingerprint", "unknown finding")
    contains(d.refhist_error("explain --timeout 0"), "--timeout must be 1 second", "no time")
    contains(d.refhist_error("explain 0x10"), "was never seen", "no object")


def test_late(d):
    d.break_at("main")
    d.run("early")
    d.expect_stop(function="main")
    d.track(ITEM)
    d.cont()
    d.expect_exit(0)
    contains(d.refhist_error("explain"), "track before run", "tracked at a stop")


def test_another_course(d):
    """Another object has the address in the second run, and the same history up to the event."""
    run_to_end(d, "early", os.path.join(d.case.scratch, "again"))
    contains(d.refhist("explain"), "is not deterministic", "report")


def test_follow(d):
    run_to_end(d, "early")
    lost = next(event["seq"] for object_ in leaks(d)[0]["objects"] for event in d.object(object_["address"])["events"] if event["role"] == "get")
    path = os.path.join(d.case.scratch, "way.json")
    contains(d.refhist(f"follow #{lost} --save {path}"), "--in handle", "rule")
    d.run("early")
    d.expect_exit(0)
    with open(path, encoding="utf-8") as file:
        way = json.load(file)
    equal((way["end"], way["function"], way["why_not"]), ("returned", "handle", ""), "the way")
    # The `return` itself may have no code.
    check(any(step["line"] == line_lost("early") - 1 for step in way["steps"]), f"its lines: {way['steps']}")
    contains(d.refhist("follow list"), "1 hit", "rules")
    d.refhist("follow delete 1")
    contains(d.refhist_error("follow --object 0x1 --number 1"), "--in FUNCTION", "no function")
