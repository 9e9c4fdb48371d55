"""A handler that gets and puts itself, run while a thread stands at a breakpoint of ours, doubles and hides no event."""

from harness.checks import check, equal
from harness.shapes import objects, role_totals


def counted(d):
    totals = role_totals(objects(d, "--all"))
    return totals.get("get", 0), totals.get("put", 0), totals.get("init", 0), totals.get("unobserved", 0)


def program_counts(d):
    return d.value("taken"), d.value("given"), d.value("births")


def expect_every_call_once(d, arguments=(), track=""):
    d.pass_signal("SIGALRM")
    d.track_conn(track)
    d.break_at("checkpoint")
    d.run(*arguments)
    d.expect_stop(function="checkpoint")
    equal(counted(d), (*program_counts(d), 0), "gets, puts, births, unobserved changes")
    alarms = d.value("alarms")
    # Without stops the program is through before many signals come.
    check(alarms > 20 or d.backend != "breakpoint", f"{alarms} signals are too few to prove anything")
    d.cont()
    d.expect_stop(function="checkpoint")
    equal(counted(d)[:3], program_counts(d), "gets, puts, births")
    d.cont()
    d.expect_exit(0)


def test_handler_on_the_same_stack(d):
    expect_every_call_once(d)


def test_handler_on_its_own_stack(d):
    expect_every_call_once(d, arguments=["alt"])


def test_handler_on_its_own_stack_without_calls(d):
    expect_every_call_once(d, arguments=["alt", "quiet"])


def test_remote(d):
    d.connect_to_server()
    d.pass_signal("SIGALRM")
    d.track_conn()
    d.break_at("checkpoint")
    d.cont()
    d.expect_stop(function="checkpoint")
    equal(counted(d), (*program_counts(d), 0), "gets, puts, births, unobserved changes")
    d.kill()


def test_without_stacks(d):
    expect_every_call_once(d, track="--stacks none")
