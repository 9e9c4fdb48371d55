"""Watched calls that end by an exception or are parked on another stack: what returned is seen, and nothing else."""

from harness.checks import IN_AGENT, equal
from harness.shapes import check_findings, hits

ROUNDS = 500 if IN_AGENT else 4
TRACK = "--name conn --init conn_make --init conn_new --get conn_get --put conn_put --free conn_free --count refs"


def run(d, births):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.run(str(ROUNDS))
    d.expect_exit(12)
    equal([d.printed(name) for name in ("thrown", "no_memory", "parts")], [ROUNDS] * 3, "what the program did")
    status = d.refhist_json("status")
    calls = hits(status)
    # In each round three conn_make(0), one conn_make(3), two of coroutines; one shared object.
    made = 6 * ROUNDS + 1
    equal((calls["conn_make"], calls["conn_new"]), (6 * ROUNDS, made), "calls of constructors")
    equal((calls["conn_get"], calls["conn_put"]), (2 * ROUNDS, made + 2 * ROUNDS), "gets and puts")
    totals = status["totals"]
    equal((totals["objects"], totals["live"], totals["lost_events"]), (made, 0, 0), "objects, live, lost")
    everything = d.refhist_json("objects --all --family conn")["objects"] if ROUNDS < 10 else []
    equal({thing["complete"] for thing in everything} - {True}, set(), "incomplete objects")
    equal(all(thing["size"] > 0 for thing in everything) or not births, True, "sizes are known")
    equal(check_findings(d), (0, []), "findings")


def test_without_the_allocators(d):
    run(d, False)


def test_with_the_allocators(d):
    if IN_AGENT:
        d.refhist("set allocators auto")
        run(d, True)
