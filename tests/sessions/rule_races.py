"""Stop rules while threads take and give back the same objects: no stop that is not true, and no last put missed."""

from harness.checks import IN_AGENT, agent_only, check, equal

TRACK = "--init node_new --try-get node_try_get --put node_put --count refs"


def count_true_stops(d):
    stops = 0
    while d.state()["state"] == "stopped":
        d.expect_stop(function="node_put")
        equal(d.value("*(int *)$rdi"), 1, "the counter before the last put")
        stops += 1
        d.cont()
    d.expect_exit(0)
    return stops


def test_one_last_put_among_many(d):
    # A breakpoint at each call costs a thousand times as much.
    rounds = 500000 if IN_AGENT else 200
    d.track(TRACK)
    d.refhist("break-on-put-to-zero")
    d.refhist("break-on-imbalance")
    d.run("storm", str(rounds))
    equal(count_true_stops(d), 1, "stops")
    equal((d.printed("taken"), d.printed("died")), (2 * rounds, 1), "taken, died")


@agent_only("breakpoints do not keep the other threads from the object")
def test_get_unless_zero_against_the_last_put(d):
    d.track(TRACK)
    d.refhist("break-on-put-to-zero")
    d.refhist("break-on-imbalance")
    d.run("deaths", "100")
    stops = count_true_stops(d)
    # The other thread may take the object again between the stop and the put: then there is a second last put.
    check(100 <= stops <= 150, f"{stops} stops for 100 objects")
    equal(d.printed("died"), 100, "died")
