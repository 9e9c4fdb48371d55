"""Return values and counts are right when probed calls are nested in themselves."""

from harness.checks import equal
from harness.shapes import functions, objects, roles


def test_constructor_that_calls_itself(d):
    d.track("--init chain_new --get conn_get --put conn_put --free conn_free --count refs")
    d.break_at("checkpoint")
    d.run()
    live = objects(d)
    equal(len(live), 5, "objects")
    chain, node = [], d.value("subject")
    while node:
        chain.append(node)
        node = d.value(f"((struct conn *){node})->next")
    equal(sorted(int(o["address"], 16) for o in live), sorted(chain), "addresses")
    depths = sorted(functions(o["born"]).count("chain_new") for o in live)
    equal(depths[-1] - depths[0], 4, "range of the depths at birth")


def test_gets_in_a_recursion(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    subject = d.object("subject")
    equal(roles(subject), ["init"] + ["get"] * 7, "roles")
    equal(subject["count"], 8, "count")
    d.cont()
    d.expect_exit(0)
    equal({o["state"] for o in objects(d, "--all")}, {"dead"}, "states at the end")
