"""At a stop of a rule the debugger shows the arguments of the call, and the program goes on as ever."""

from harness.checks import contains, equal

PUTS = ["plain_put", "one_line_put", "many_put", "guarded_put", "real_put", "varied_put", "recursive_put"]
# What stores more than general registers stops at its entry.
AT_ENTRY = ["real_put"]
OTHERS = ["one == 1", "two == -2", "three == 3", "four == -4", "six == 6", "seven == -7"]


def track(d):
    d.track("--name thing --init thing_new --count refs " + " ".join(f"--put {put}" for put in PUTS))
    d.refhist("break-on-put-to-zero")


def test_each_stop_shows_the_arguments(d):
    track(d)
    screen = d.run()
    for put in PUTS:
        d.expect_stop(function=put, caller="main")
        contains(screen, "put to zero", "why the program stopped")
        equal(d.value("made->refs"), 1, "the count before the put")
        if put not in AT_ENTRY:
            equal(d.value("(long)thing"), d.value("(long)made"), f"the argument of {put}")
            contains(d.refhist("thing"), "put", "what is asked first")
        if put == "many_put":
            for holds in OTHERS:
                equal(d.value(f"(int)({holds})"), 1, holds)
        screen = d.cont()
    d.expect_exit(0)
    equal(d.refhist_json("leaks")["leaks"], [], "leaks")


def test_a_breakpoint_of_the_user_at_that_place_stops_as_well(d):
    """At the same stop where the agent's jump would stand right there, and at the next one else."""
    track(d)
    number = d.break_at("plain_put")
    screen = d.run()
    d.expect_stop(function="plain_put", caller="main")
    users = d.state()["user_breakpoints"]
    # LLDB's plugin looks at the program when it is asked something.
    contains(screen + d.command("refhist status"), "put to zero", "why the program stopped")
    if number not in users:
        d.cont()
        d.expect_stop(function="plain_put", caller="main", breakpoint=number)
    equal(d.value("thing->refs"), 1, "the count before the put")
    d.delete_breakpoints()
    contains(d.cont(), "one_line_put", "the next stop")


def test_steps_go_on_from_there(d):
    track(d)
    d.run()
    d.expect_stop(function="plain_put", caller="main")
    d.stepi()
    d.expect_stop(function="plain_put", caller="main")
    equal(d.value("(long)thing"), d.value("(long)made"), "the argument")
    contains(d.cont(), "one_line_put", "the next stop")
