"""Expressions about a leaked object do not hide the leak: nothing of them counts as a holder (on leak_at_end.c)."""

from harness.checks import equal, matches
from harness.shapes import leaks

EXPRESSIONS = (
    "(struct conn *){0}",
    "(struct conn *)({0} + 24) - 1",
    "*(struct conn *){0}",
    "&((struct conn *){0})->refs",
    "(char *){0} + (((struct conn *){0})->refs - 1) * 8",
)


def leaked(d):
    return [thing["address"] for group in leaks(d) if group["reach"] == "unreachable" for thing in group["objects"]]


def stop_with_leaks(d):
    d.track_conn()
    d.break_at("quick_exit")
    d.run("quick_exit")
    d.expect_stop()
    d.up()
    addresses = leaked(d)
    equal(len(addresses), 2, "leaked objects")
    return addresses


def test_expressions_given_to_refhist(d):
    addresses = stop_with_leaks(d)
    for expression in EXPRESSIONS:
        for address in addresses:
            equal(d.object(expression.format(address))["address"], address, f"object of {expression}")
            equal(leaked(d), addresses, f"leaked objects after {expression}")


def test_an_expression_runs_nothing_of_the_program(d):
    stop_with_leaks(d)
    before = d.object("singleton")
    matches(d.refhist_error("conn_get(singleton)"), "calls a function", "a call in an expression")
    equal(d.object("singleton"), before, "object after a call in an expression")
    equal(d.value("singleton->refs"), 1, "count")


def test_expressions_of_the_user(d):
    addresses = stop_with_leaks(d)
    for expression in EXPRESSIONS:
        for address in addresses:
            d.command("print " + expression.format(address))
            equal(leaked(d), addresses, f"leaked objects after print {expression}")
    d.cont()
    d.expect_exit(5)
