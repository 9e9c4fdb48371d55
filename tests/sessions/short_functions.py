"""A function with no room for a jump is followed by a breakpoint. When that slows the program down, the user is told,
once."""

from harness.checks import IN_AGENT, check, contains, equal
from harness.shapes import hits

CALLS = 1_200
TOLD = "1000 calls of tiny_get have each stopped the program"


def run(d, calls):
    d.refhist("track --get tiny_get --put tiny_put --init tiny_new --count-offset 0 --name tiny")
    screen = d.run(str(calls))
    d.expect_exit(3)
    status = d.refhist_json("status")
    equal(hits(status), {"tiny_get": calls, "tiny_put": calls + 1, "tiny_new": 1}, "calls")
    return screen, {site["probe"]: site["why_breakpoint"] for site in status["sites"]}


def test_told_once(d):
    screen, why = run(d, CALLS)
    equal(screen.count(TOLD), 1 if IN_AGENT else 0, f"times that it is told on the screen:\n{screen}\n")
    if IN_AGENT:
        check(why["tiny_get"] and not why["tiny_put"], f"only tiny_get is a breakpoint: {why}")
        contains(screen, f"not in the agent: {why['tiny_get']}", "screen")


def test_few_calls(d):
    screen, _ = run(d, 500)
    equal(screen.count("have each stopped the program"), 0, "nothing is told")
