"""A signal handler that gets and puts ten thousand times a second, also while the agent records."""

from harness.checks import agent_only, check, equal
from harness.shapes import hits

PAIRS = 100000


@agent_only("with a stop at each call a program gets nowhere between such signals")
def test_nothing_is_lost_or_told_twice(d):
    d.track_conn()
    d.refhist("break-on-imbalance")
    d.pass_signal("SIGPROF")
    d.run(str(PAIRS))
    d.expect_exit(9)
    handled = d.printed("handled")
    check(handled > 50, f"only {handled} signals")
    status = d.refhist_json("status")
    expected = {"conn_new": PAIRS + 1, "conn_get": PAIRS + handled, "conn_put": 2 * PAIRS + 1 + handled}
    equal({name: n for name, n in hits(status).items() if name != "conn_free"}, expected, "calls")
    totals = status["totals"]
    equal((totals["events"], totals["live"]), (sum(hits(status).values()), 0), "events, live objects")
    equal(status["truncated_stacks"], 0, "stacks that could not be walked to the end")
