"""The user's breakpoint on an instruction in the bytes that the agent's jump needs: on its second byte and on its
last one, set before and after arming. It stops at every call, and every call is recorded."""

from harness.checks import equal
from harness.shapes import functions, roles

SECOND, LAST = 1, 4  # with endbr64 the second byte begins no instruction


def stops(d, offset, number):
    """Stops in conn_get until the program ends: how far behind its beginning."""
    places = []
    while d.state()["state"] == "stopped":
        state = d.state()
        if number in state["user_breakpoints"]:
            places.append(state["pc"] - d.value("(unsigned long)&conn_get"))
        d.cont()
    d.expect_exit(0)
    equal(set(places) - {offset}, set(), "other places")
    return len(places)


def events(d):
    every = d.refhist_json("objects --all")["objects"]
    return [role for role in roles(every[0]) if role != "free"]


def check_callers(d):
    """Where the agent takes the stack further in than at the entry, it is the same stack."""
    gets = [event for event in d.refhist_json("objects --all")["objects"][0]["events"] if event["role"] == "get"]
    for get in gets:
        equal(functions(get)[:3], ["conn_get", "take", "main"], "stack of a get")


def leave_to_breakpoints(d):
    # The function begins with endbr64, and behind that there is no room for the jump and the breakpoint.
    d.case.left_to_breakpoints = 1 if d.variant == "cet" else 0


def set_before(d, offset):
    leave_to_breakpoints(d)
    number = d.break_at_address("conn_get", offset)
    d.track_conn()
    d.run()
    equal(stops(d, offset, number), 2, "stops")
    equal(events(d), ["init", "get", "get", "put", "put", "put"], "events")
    check_callers(d)


def set_after(d, offset, *rules):
    leave_to_breakpoints(d)
    d.track_conn()
    for rule in rules:
        d.refhist(rule)
    d.break_at("checkpoint")
    d.run()
    d.expect_stop(function="checkpoint")
    number = d.break_at_address("conn_get", offset)
    equal(stops(d, offset, number), 1, "stops")
    equal(events(d), ["init", "get", "get", "put", "put", "put"], "events")


def test_last_byte_before(d):
    set_before(d, LAST)


def test_second_byte_before(d):
    if d.variant == "cet":
        return
    set_before(d, SECOND)


def test_last_byte_after(d):
    set_after(d, LAST)


def test_second_byte_after(d):
    if d.variant == "cet":
        return
    set_after(d, SECOND)


def test_last_byte_after_with_a_rule(d):
    set_after(d, LAST, "break-on-imbalance")


def test_taken_away_again(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    d.break_at_address("conn_get", LAST)
    d.cont()
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    equal(events(d), ["init", "get", "get", "put", "put", "put"], "events")
