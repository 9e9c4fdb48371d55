"""The user's own breakpoints on and beside probed functions keep working, and ours stay out of sight."""

from harness.checks import contains, equal, lacks
from harness.shapes import roles


def test_breakpoint_on_a_probed_function(d):
    d.track_conn()
    number = d.break_at("conn_get")
    stops = 0
    d.run()
    while d.state()["state"] == "stopped":
        d.expect_stop(function="conn_get", breakpoint=number)
        stops += 1
        d.cont()
    d.expect_exit(0)
    equal(stops, 2, "stops in conn_get")


def test_breakpoint_on_the_very_address(d):
    d.track_conn()
    number = d.break_at_address("conn_get")
    d.run()
    d.expect_stop(function="conn_get", breakpoint=number)
    equal(roles(d.object("subject")), ["init", "get"], "events when both stop at one address")
    d.cont()
    d.expect_stop(function="conn_get", breakpoint=number)
    equal(roles(d.object("subject")), ["init", "get", "get"], "events")
    d.cont()
    d.expect_exit(0)


def test_stepping_over_a_probed_call(d):
    d.track_conn()
    d.break_at("give_back")
    d.run()
    for _ in range(3):  # the call may be the first or the second line
        if "put" not in roles(d.object("subject")):
            d.next()
    equal(roles(d.object("subject")), ["init", "get", "get", "put"], "events")
    d.expect_stop(function="give_back")


def test_stepping_into_and_out_of_a_probed_function(d):
    d.track_conn()
    d.break_at("conn_put")
    d.run()
    d.stepi()
    d.expect_stop(function="conn_put")
    d.finish()
    d.expect_stop(function="give_back")
    equal(roles(d.object("subject")), ["init", "get", "get", "put"], "events")


def test_ours_are_not_listed(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    listing = d.command("info breakpoints" if d.name == "gdb" else "breakpoint list")
    contains(listing, "checkpoint", "list of breakpoints")
    lacks(listing, "conn_get", "list of breakpoints")
    lacks(listing, "conn_put", "list of breakpoints")


def test_deleting_all_breakpoints_does_not_delete_ours(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    every = d.refhist_json("objects --all")["objects"]
    equal([r for r in roles(every[0]) if r != "free"], ["init", "get", "get", "put", "put", "put"], "events")


def test_deleting_ours_by_number_is_noticed(d):
    if d.name != "lldb":
        return  # GDB does not let users delete internal breakpoints by accident
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    d.command("script [lldb.target.BreakpointDelete(b.GetID()) for b in list(lldb.target.breakpoint_iter()) "
              "if b.GetNumLocations() > 1]")
    contains(d.refhist("status").lower(), "breakpoint", "status")
