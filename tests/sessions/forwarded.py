"""A stripped library's put that hands on to an internal function is followed there: its own calls are seen, too."""

from harness.checks import contains, equal
from harness.shapes import check_findings, leaks, objects, only, roles

TRACK = "--name ticket --init ticket_new --get ticket_ref --put ticket_unref --count-offset 8"


def test_every_put_is_seen(d):
    d.track(TRACK)
    d.run()
    d.expect_exit(0)
    every = objects(d, "--all")
    equal(len(every), 20, "objects")
    for thing in every:
        equal([role for role in roles(thing) if role != "alloc"][:6], ["init", "get", "put", "get", "put", "put"], "events")
        equal((thing["state"], thing["count"]), ("dead", 0), "end")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_the_leak(d):
    d.track(TRACK)
    d.refhist("break-on-leak")
    contains(d.run("forget"), "1 object leaked: 1 ticket", "the line that says why")
    equal(len(only(leaks(d), "groups")["objects"]), 1, "leaked objects")
