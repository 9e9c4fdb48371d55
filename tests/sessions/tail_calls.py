"""Probed functions that are reached by a jump instead of a call, and constructors that call one another."""

from harness.checks import equal
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
