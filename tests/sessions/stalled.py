"""The debugger stands still for longer than the program waits for it, and the user presses Ctrl-C meanwhile: the program
goes on to its end, what was lost is said, and nobody is accused for it."""

from harness.checks import agent_only, check, contains, equal, lacks
from harness.shapes import check_findings, hits

PAIRS = 9_999_968  # a number of rounds


def begin(d, *rules):
    d.track_conn()
    for rule in rules:
        d.refhist(rule)
    d.type_run(str(PAIRS), d.ready_path(), d.go_path())
    d.wait_ready()


def stand_still(d, meanwhile=lambda: None):
    """The program does two fifths of its work meanwhile, which is more than there is room for."""
    d.terminal.stop()
    d.let_go()
    d.wait_ready()
    meanwhile()
    d.let_go()
    d.terminal.go_on()
    d.wait_for_stop()


@agent_only("with breakpoints the program stands still with its debugger")
def test_the_debugger_stands_still(d):
    begin(d)
    stand_still(d)
    d.expect_exit(9)
    status = d.refhist_json("status")
    lost = status["totals"]["lost_events"]
    calls = hits(status)
    equal(sum(calls.values()) + lost, 2 * PAIRS + 3, "recorded and lost")  # with conn_new, the last put, conn_free
    check(0 < lost < PAIRS, "lost while the debugger stood still, and only then")
    contains(d.refhist("status"), f"{lost} events in the program not recorded")
    status, findings = check_findings(d, "--fail-on leak,imbalance")
    equal((status, findings), (1, []), "nobody is accused, and a check with losses proves nothing")


@agent_only("with breakpoints the program stands still with its debugger")
def test_the_next_run(d):
    begin(d)
    stand_still(d)
    d.expect_exit(9)
    contains(d.refhist("status"), "not recorded", "status")
    d.run("32")
    d.expect_exit(2)
    equal(d.refhist_json("status")["totals"]["lost_events"], 0, "lost in the next run")
    lacks(d.refhist("status"), "not recorded", "status after the next run")


@agent_only("with breakpoints the program stands still with its debugger")
def test_rules_behind_a_loss(d):
    """The loss begins with another count than it ends with, and there are more gets than puts or the reverse among what
    was seen: neither is a mistake of the program."""
    begin(d, "break-on-imbalance", "break-on-imbalance --after churn", "break-on-leak")
    stand_still(d)
    d.expect_exit(9)
    status = d.refhist_json("status")
    check(0 < status["totals"]["lost_events"] < PAIRS, "lost while the debugger stood still, and only then")
    equal([(rule["hits"], rule["undecided"]) for rule in status["rules"]], [(0, 0), (0, 1), (0, 0)], "the rules")
    contains(d.refhist("leaks"), "(break-on-imbalance --after churn) could not check 1 call: events were lost", "report")


@agent_only("with breakpoints the program stands still with its debugger")
def test_control_c_meanwhile(d):
    begin(d)
    stand_still(d, d.terminal.press_control_c)
    if d.state()["state"] == "stopped":  # it may have come to its end before the signal was passed on
        d.cont()
    d.expect_exit(9)
