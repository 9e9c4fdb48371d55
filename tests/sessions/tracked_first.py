"""What is tracked before there is a program is followed in the first one (on the program of events.c)."""

import os

from harness.checks import check, equal, lacks
from harness.shapes import counts, only, roles

LOAD_REFHIST = False
FORGET_PROGRAM = {"gdb": "file", "lldb": "target delete --all"}


def track_without_a_program(d):
    d.command(FORGET_PROGRAM[d.name])
    d.command(d.load_line())
    d.refhist(f"set backend {os.environ.get('REFHIST_TEST_BACKEND', 'breakpoint')}")
    d.refhist("set allocators off")
    d.refhist("track --name conn --get conn_get --put conn_put --init conn_new --free conn_free --count refs")


def check_history(d):
    """The object was seen from its birth on."""
    subject = only(d.refhist_json("objects --all")["objects"], "objects")
    equal(roles(subject)[:6], ["init", "get", "get", "put", "put", "put"], "roles")
    equal([after for _, after in counts(subject)][:6], [1, 2, 3, 2, 1, 0], "counts")
    check(subject["complete"], "the object is said to have lived before")


def launch_through_the_api(d):
    """As lldb-dap and scripts do: no command of LLDB's tells of the target or its launch."""
    return d.command(f'script lldb.debugger.CreateTarget({d.program!r}).LaunchSimple(None, None, "/")')


def test_launched_by_command(d):
    track_without_a_program(d)
    d.load_program(d.program)
    lacks(d.run(), "refhist:", "what is said at the launch")
    d.expect_exit(0)
    check_history(d)


def test_launched_through_the_api(d):
    if d.name != "lldb":
        return
    track_without_a_program(d)
    lacks(launch_through_the_api(d), "refhist:", "what is said at the launch")
    d.expect_exit(0)
    check_history(d)


def test_a_rule_stops_the_first_program(d):
    if d.name != "lldb":
        return
    track_without_a_program(d)
    d.refhist("break-on-put-to-zero")
    launch_through_the_api(d)
    d.expect_stop(function="conn_put")
    d.cont()
    d.expect_exit(0)
    check_history(d)


def test_only_the_first_program(d):
    """A second target begins with nothing, and no breakpoint of ours is left in it."""
    if d.name != "lldb":
        return
    track_without_a_program(d)
    launch_through_the_api(d)
    check_history(d)
    launch_through_the_api(d)
    equal(d.refhist_json("status")["families"], [], "families of the second target")
    equal(d.command("breakpoint list").strip().splitlines()[-1], "No breakpoints currently set.", "breakpoints")


def test_tracked_no_longer(d):
    if d.name != "lldb":
        return
    track_without_a_program(d)
    d.refhist("untrack conn")
    launch_through_the_api(d)
    d.expect_exit(0)
    equal(d.refhist_json("objects --all")["objects"], [], "objects")
