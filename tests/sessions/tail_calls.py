"""Probed functions that are reached by a jump instead of a call, and constructors that call one another."""

from harness.checks import contains, equal, lacks
from harness.shapes import called_from, objects, roles


def test_calls_by_jump(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    subject = d.object("subject")
    equal(roles(subject), ["init", "get", "put"], "roles")
    equal(subject["count"], 1, "count")
    for event in subject["events"]:
        called_from(event, "main")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    every = objects(d, "--all")
    equal([(o["state"], o["complete"]) for o in every], [("dead", True)] * 3, "objects")


def test_a_constructor_that_jumps_to_another_is_one_birth(d):
    d.track("--init conn_new* --get conn_get --put conn_put --free conn_free --count refs")
    d.break_at("checkpoint")
    d.run()
    equal(roles(d.object("subject")), ["init", "get", "put"], "roles")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    equal(len(objects(d, "--all")), 3, "objects")


def lost(event):
    """What is said about lost frames, frame by frame."""
    return [(f["function"], f["lost_callers"]) for f in event["stack"] if "lost_callers" in f]


def sure(called, runs, *between):
    return [(runs, {"called": called, "ways": [[called, *between]], "complete": True})]


def test_lost_frames_are_named(d):
    d.track_conn()
    d.run()
    d.expect_exit(0)
    first, second, _ = objects(d, "--all")
    born, taken, given, ended = first["events"][:4]
    equal(lost(born), sure("open_default", "conn_new", "conn_new_default"), "birth")
    equal(lost(taken), sure("share", "conn_get"), "get")
    equal(lost(given), sure("drop", "conn_put"), "put")
    equal(lost(ended), sure("drop", "conn_put"), "last put")
    text = d.refhist(f"{first['address']} --stacks --generation {first['generation']}")
    contains(text, "... frames lost to a tail call: called open_default, which jumped to conn_new_default, which "
                   "jumped to conn_new", "stack")
    contains(text, "conn_get <- main (tail_calls.c:", "event line")
    contains(text, ") through share", "event line")
    by_two_ways, by_pointer = [event for event in second["events"] if event["role"] == "put"][-2:]
    ((runs, told),) = lost(by_two_ways)
    equal((runs, told["called"], told["complete"]), ("conn_put", "drop_somehow", True), "put by two ways")
    equal(sorted(told["ways"]), [["drop_somehow", "drop"], ["drop_somehow", "drop_quietly", "drop"]], "candidates")
    equal(lost(by_pointer), [], "put by a pointer")
    text = d.refhist(f"{second['address']} --stacks --generation {second['generation']}")
    contains(text, "called drop_somehow, which led to conn_put (candidates: ", "stack")
    lacks(text, "frames may be", "stack")
