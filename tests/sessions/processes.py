"""fork, vfork and exec: the process that is followed is recorded, the other one lives on unharmed."""

import os

from harness.checks import check, equal
from harness.shapes import objects, role_totals


def gets_and_puts(d):
    """Of the object that was born last."""
    totals = role_totals(objects(d, "--all")[-1:])
    return totals.get("get", 0), totals.get("put", 0)


def test_fork_following_the_parent(d):
    d.follow_fork("parent")
    d.track_conn()
    d.run("fork")
    d.expect_exit(4)
    equal(d.printed("child"), 21, "end of the child")
    equal(gets_and_puts(d), (3, 4), "gets and puts of the parent")


def test_fork_following_the_child(d):
    d.follow_fork("child")
    d.track_conn()
    d.run("fork")
    d.expect_exit(21)
    equal(gets_and_puts(d), (5, 5), "gets and puts of the child")


def test_vfork_following_the_parent(d):
    d.follow_fork("parent")
    d.track_conn()
    d.run("vfork")
    d.expect_exit(4)
    equal(d.printed("child"), 22, "end of the child")
    equal(gets_and_puts(d), (3, 4), "gets and puts of the parent")


def test_vfork_following_the_child(d):
    d.follow_fork("child")
    d.track_conn()
    d.run("vfork")
    d.expect_exit(22)
    equal(gets_and_puts(d), (5, 6), "gets and puts of the child")


def test_child_of_vfork_before_its_exec(d):
    """GDB sees what it does. LLDB takes its breakpoints out, which is said."""
    d.follow_fork("child")
    d.track_conn()
    d.run("vfork-in-place")
    d.expect_exit(23)
    told = "all breakpoints from a child made by vfork" in d.refhist("status")
    equal(told, d.name == "lldb", "a note")
    if d.backend == "breakpoint":
        equal(gets_and_puts(d), (0, 0) if d.name == "lldb" else (2, 2), "gets and puts")
        return
    # Both sides share their memory, and the agent in it. When the child ends the parent goes on, and what it does
    # until the debugger hears of that end is recorded too.
    gets, puts = gets_and_puts(d)
    check(2 <= gets <= 5 and 2 <= puts <= 6, f"{gets} gets and {puts} puts")


def test_no_note_when_the_parent_is_followed(d):
    d.follow_fork("parent")
    d.track_conn()
    d.run("vfork-in-place")
    d.expect_exit(4)
    equal(gets_and_puts(d), (3, 4) if d.backend == "breakpoint" else (5, 6), "gets and puts of the parent")
    equal("vfork" in d.refhist("status"), False, "a note about vfork")


def test_exec(d):
    d.track_conn()
    d.run("exec")
    d.expect_exit(22)
    equal(gets_and_puts(d), (5, 6), "gets and puts after exec")


def test_rules_hold_after_exec(d):
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    d.run("exec")
    d.expect_stop(function="conn_put", caller="main")
    d.cont()
    d.expect_exit(22)


def test_exec_of_a_program_with_libraries(d):
    """The first breakpoint behind the exec may be one that the program before had at the same address."""
    d.refhist("set allocators auto")
    d.load_program("/usr/bin/env")
    d.track("GBytes GPtrArray")
    d.run(os.path.join(d.case.build, "tests", "sessions", "session_glib_types"))
    d.expect_exit(0)
    totals = d.refhist_json("status")["totals"]
    check(totals["objects"] > 0 and totals["lost_events"] == 0, f"objects of the program that was executed: {totals}")
