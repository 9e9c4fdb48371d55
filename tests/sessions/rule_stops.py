"""A call at which a rule stops is stopped at once, at its place, and recorded once: whatever stands or happens there."""

import os

from harness.checks import check, contains, equal
from harness.shapes import objects, role_totals

IN_AGENT = os.environ.get("REFHIST_TEST_BACKEND") == "auto"
BUFFER = "--name buffer --init buffer_new --put buffer_put --count refs"
STATIC = "--name buffer --init static_init --put static_put --count refs"
ITEM = "--name item --put item_put --count refs"
ENDBR64 = 4  # bytes
SECOND = {"O0": 1, "O1": 3, "cet": ENDBR64}  # where the second instruction of conn_put begins


def stops(d, functions, screen):
    """Every stop until the end of the program is in one of the functions. How many reasons were told: in LLDB, two
    threads may stop at the same time."""
    count = 0
    while d.state()["state"] == "stopped":
        check(d.state()["frames"][0] in functions, f"frames {d.state()['frames']} {screen}")
        told = screen.count("put to zero")
        check(told > 0, "the program stopped without a reason")
        count += told
        screen = d.cont()
    d.expect_exit(3)
    return count


def puts(d, family):
    totals = role_totals([thing for thing in objects(d, "--all") if thing["family"] == family])
    check("unobserved" not in totals, "a change was not observed")
    return totals["put"]


def to_checkpoint(d):
    """Behind the first stop, before the second."""
    d.break_at("checkpoint")
    d.run("twice")
    d.expect_stop(function="conn_put", caller="twice")
    d.cont()
    d.expect_stop(function="checkpoint")


def test_each_call_is_a_stop(d):
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    equal(stops(d, ["conn_put"], d.run("twice")), 2, "stops")
    equal(puts(d, "conn"), 2, "puts")


def test_a_breakpoint_of_the_user_at_the_same_place(d):
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    number = d.break_at_address("conn_put")
    screen = d.run("twice")
    for _ in range(2):
        d.expect_stop(function="conn_put", breakpoint=number)
        # LLDB's plugin looks at the program when it is asked something.
        contains(screen + d.command("refhist status"), "put to zero", "why the program stopped")
        equal(d.value("((struct conn *)$rdi)->refs"), 1, "the counter before the put")
        screen = d.cont()
    d.expect_exit(3)
    equal(puts(d, "conn"), 2, "puts")


def test_a_breakpoint_of_the_user_behind_endbr64(d):
    if d.variant != "cet" or not IN_AGENT:
        return  # by a breakpoint it is the next stop
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    to_checkpoint(d)
    d.refhist("status")  # LLDB's plugin sees the stop: the function is in the agent again
    number = d.break_at_address("conn_put", ENDBR64)
    screen = d.cont()
    d.expect_stop(function="conn_put", breakpoint=number)
    contains(screen + d.command("refhist status"), "put to zero", "why the program stopped")
    d.cont()
    d.expect_exit(3)
    equal(puts(d, "conn"), 2, "puts")


def test_a_breakpoint_of_the_user_in_the_bytes_of_the_jump(d):
    """The jump stands further in then, where the function has a place for it."""
    d.case.left_to_breakpoints = 1
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    number = d.break_at_address("conn_put", SECOND[d.variant])
    screen = d.run("twice")
    reasons = users = 0
    while d.state()["state"] == "stopped":
        # LLDB's plugin looks at the program when it is asked something.
        reasons += (screen + d.command("refhist status")).count("put to zero")
        users += number in d.state()["user_breakpoints"]
        equal(d.state()["frames"][:2], ["conn_put", "twice"], "frames")
        screen = d.cont()
    d.expect_exit(3)
    equal((reasons, users, puts(d, "conn")), (2, 2, 2), "reasons, stops of the user, puts")


def test_steps_into_a_call_record_it_once(d):
    # Steps to a breakpoint of refhist's, as at conn_free, are no steps in LLDB.
    d.track("--name conn --init conn_new --put conn_put --count refs")
    d.refhist("break-on-put-to-zero")
    to_checkpoint(d)
    d.break_at_address("conn_put")
    d.cont()
    d.delete_breakpoints()
    while "conn_put" in d.state()["frames"]:
        d.stepi()
    d.cont()
    d.expect_exit(3)
    equal(puts(d, "conn"), 2, "puts")


def test_among_threads(d):
    rounds = 5
    d.track_conn()
    d.track(BUFFER)
    d.refhist("break-on-put-to-zero")
    equal(stops(d, ["conn_put", "buffer_put"], d.run("pairs", str(rounds))), 8 * rounds, "stops")
    equal((puts(d, "conn"), puts(d, "buffer")), (4 * rounds, 4 * rounds), "puts")


def test_in_the_bytes_of_its_own_jump(d):
    """Other threads run there while the breakpoint is put in."""
    if not IN_AGENT or d.variant == "O0":
        return  # the others would hit a breakpoint all the time
    rounds = 5
    d.track(ITEM)
    d.refhist("break-on-put-to-zero")
    # The others' objects are given a count by no function.
    equal(stops(d, ["item_drop", "item_put"], d.run("jump", str(rounds))), rounds, "stops")


def test_signal_handlers_at_the_same_time(d):
    rounds = 40
    d.pass_signal("SIGUSR1")
    d.track(STATIC)
    d.refhist("break-on-put-to-zero")
    equal(stops(d, ["static_put"], d.run("signals", str(rounds))), 2 * rounds, "stops")
    equal(puts(d, "buffer"), 2 * rounds, "puts")


def test_where_a_call_in_moved_code_returns_to(d):
    d.track("--name conn --init conn_new --try-get conn_try --put conn_put --count refs")
    d.track("--name opened --get conn_open")
    d.refhist("break-on-count --above 3")
    contains(d.run("inner"), "count above 3", "why the program stopped")
    # By a breakpoint it is told where the call returns to as well.
    equal(d.state()["frames"][:3], ["conn_open", "inner", "main"], "frames")
    d.cont()
    d.expect_exit(3)


def make_useless(d, function):
    """Breakpoints of refhist's there do not stop the program from now on."""
    address = d.value(f"(unsigned long)&{function}")
    if d.name == "gdb":
        d.command(f"python import refhist_gdb.breakpoints as ours; stop = ours.OurBreakpoint.stop; "
                  f"ours.OurBreakpoint.stop = lambda one: one.address != {address} and stop(one)")
    else:
        d.command(f"script [(b.AddLocation(lldb.SBAddress({address}, lldb.target)), "
                  f"b.FindLocationByAddress({address}).SetCondition('false'), "
                  f"b.FindLocationByAddress({address}).SetEnabled(False)) "
                  "for b in lldb.target.breakpoint_iter() if b.GetNumLocations() > 1]")


def test_a_breakpoint_that_does_not_stop_the_program(d):
    if not IN_AGENT:
        return  # without that breakpoint nothing is known of the call
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    to_checkpoint(d)
    make_useless(d, "conn_put")
    screen = d.cont()
    contains(screen, "put to zero", "why the program stopped")
    contains(screen, "right before this call, because the breakpoint there did not stop it", "where it stands")
    frames = d.state()["frames"]
    equal((frames[0], frames[frames.index("twice") :][:2]), ("refhist_stop", ["twice", "main"]), "frames")
    d.cont()
    d.expect_exit(3)
    equal(puts(d, "conn"), 2, "puts")
