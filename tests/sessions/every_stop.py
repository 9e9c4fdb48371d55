"""Every stop rule stops as often as the program itself counts, whatever a compiler has made of gets and puts."""

from harness.checks import equal


def reasons_of(d, rule):
    d.case.left_to_breakpoints = 100  # copies that stand close together
    d.track("--name item --init item_new --get item_get --put item_put --count refs")
    d.refhist(rule)
    screen = d.run()
    reasons = 0
    while d.state()["state"] == "stopped":
        # Two threads may come to theirs at the same time: LLDB stops once and says why for each.
        reasons += screen.count(f"(rule 1: {rule.split()[0]}")
        screen = d.cont()
    d.expect_exit(7)
    return reasons


def test_every_death(d):
    equal(reasons_of(d, "break-on-put-to-zero"), d.printed("deaths"), "reasons")


def test_every_reference_above_two(d):
    equal(reasons_of(d, "break-on-count --above 2 --family item"), d.printed("above_two"), "reasons")


def test_every_put_too_many(d):
    equal(reasons_of(d, "break-on-imbalance"), d.printed("too_many"), "reasons")


def test_every_uneven_call(d):
    equal(reasons_of(d, "break-on-imbalance --after handle"), d.printed("uneven"), "reasons")


def test_every_call_that_leaves_an_object(d):
    equal(reasons_of(d, "break-on-leak --after handle"), d.printed("left_over"), "reasons")


def go_on(d, is_enough):
    """LLDB stops for nothing where a thread steps from one breakpoint to the next and another one hits one."""
    for _ in range(40 if d.name == "lldb" else 0):
        state = d.state()
        if state["state"] != "stopped" or is_enough(state):
            break
        d.cont()


def test_the_last_event_of_an_object(d):
    """By its number, in the order in which the history has it."""
    d.case.left_to_breakpoints = 100
    d.track("--name item --init item_new --get item_get --put item_put --count refs")
    d.break_at("handle")
    d.run()
    go_on(d, lambda state: "handle" in state["frames"][:2])  # clang has its first line in an inlined function
    d.expect_stop()
    handled = f"{d.value('$rdi'):#x}"
    d.delete_breakpoints()
    gets_and_puts = 20 * 2
    d.refhist(f"break-on-event --object {handled} --number {1 + gets_and_puts}")
    d.cont()
    equal(d.state()["state"], "stopped", "state")
    d.cont()
    go_on(d, lambda state: False)
    d.expect_exit(7)
