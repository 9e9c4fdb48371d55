"""Nothing is lost or mixed up when threads come and go."""

from harness.checks import contains, equal
from harness.shapes import in_order, objects, role_totals, roles

TRACK = "--init node_new --get node_get --put node_put --count refs"


def test_every_event_of_every_thread(d):
    d.track(TRACK)
    d.break_at("checkpoint")
    d.run()
    shared = d.object("shared")
    equal(roles(shared).count("get"), 60, "gets of the shared object")
    equal(roles(shared).count("put"), 60, "puts of the shared object")
    equal(shared["count"], 1, "count of the shared object")
    in_order(shared)
    threads = {(event["thread"]["id"], event["thread"]["name"]) for event in shared["events"]}
    equal(len(threads), 13, "threads that used the shared object")
    equal(sum(name == "worker" for _, name in threads), 12, f"threads named worker in {threads}")
    d.cont()
    d.expect_exit(0)
    totals = role_totals(objects(d, "--all"))
    equal((totals["init"], totals["get"], totals["put"]),
          (d.printed("births"), d.printed("gets"), d.printed("puts")), "births, gets, puts")


def test_no_false_alarm(d):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.refhist("break-on-leak")
    d.run()
    d.expect_exit(0)
    contains(d.refhist("status"), "node", "status")
