"""The program writes anything into the memory that it shares with the debugger: whatever becomes of the program, the
debugger goes on, and says so.

REFHIST_SCRIBBLES: how many seeds each test takes (2 by default); tests/real/scribbled takes fifty."""

import os

from harness.checks import agent_only, check, contains

TRACK = "--init node_new --get node_get --put node_put --count refs"
SEEDS = int(os.environ.get("REFHIST_SCRIBBLES", "2"))
FIRST = int(os.environ.get("REFHIST_FIRST_SCRIBBLE", "1"))
MILLISECONDS = 400
MOST_STOPS = 12
BY_ITSELF = 7
REFUSED, NO_DESCRIPTOR = 4, 5  # the second: only root gets at the file again, once it is closed
RULES = ("break-on-imbalance", "break-on-put-to-zero --object 0x10", "break-on-count --above 1000")


def run_to_any_end(d, what, seed):
    """Stops by rules that a damaged record fires are gone on from; the program's own faults are an end."""
    d.run(what, str(seed), str(MILLISECONDS))
    for _ in range(MOST_STOPS):
        state = d.state()
        if state["state"] != "stopped" or state.get("signal"):
            break
        d.refhist("status")
        d.cont()
    return d.state()


def damage(d):
    totals = d.refhist_json("status")["totals"]
    return totals["refused_records"] + totals["repaired_words"]


def check_debugger(d, state, must_tell):
    """Damage is found at any time, but never forgotten: what JSON tells before and after the text bounds the text."""
    before = damage(d)
    text = d.refhist("status")
    after = damage(d)
    told = "the program has damaged refhist's memory" in text
    check(before <= after, f"damage that is told becomes no less ({before}, {after})")
    check(told or before == 0, "what JSON told before, the text tells")
    check(not told or after != 0, "what the text told, JSON tells behind it")
    d.refhist("objects")
    d.refhist("leaks")
    if must_tell and state.get("exit_status") == BY_ITSELF:
        check(told, "damage is told")
        contains(d.refhist("check --stay --fail-on leak"), "damaged refhist's memory", "check")
    if state["state"] == "stopped":
        d.kill()


def scribble(d, what, must_tell, rules=()):
    d.track(TRACK)
    for rule in rules:
        d.refhist(rule)
    for seed in range(FIRST, FIRST + SEEDS):
        check_debugger(d, run_to_any_end(d, what, seed), must_tell)


@agent_only("with breakpoints there is no such memory")
def test_slots_and_rings(d):
    scribble(d, "records", True)


@agent_only("with breakpoints there is no such memory")
def test_slots_and_rings_with_rules(d):
    scribble(d, "records", True, RULES)


@agent_only("with breakpoints there is no such memory")
def test_anything(d):
    scribble(d, "all", False)


@agent_only("with breakpoints there is no such memory")
def test_anything_with_rules(d):
    scribble(d, "all", False, RULES)


@agent_only("with breakpoints there is no such memory")
def test_its_size_stays(d):
    """A look behind the end of a file that has become shorter would end the debugger."""
    d.track(TRACK)
    d.run("size", "0", "0")
    check(d.state().get("exit_status") in (REFUSED, NO_DESCRIPTOR), f"end of the program ({d.state()})")
