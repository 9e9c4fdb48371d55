"""Copies of a get that the compiler has made one instruction of: each execution is an event."""

from harness.checks import check, equal
from harness.shapes import objects, roles


def test_every_get_is_an_event(d):
    d.track("--name page --init page_new --get page_retain --put page_release --type 'struct page' --count refs")
    d.break_at("checkpoint")
    d.run()
    every = [role for page in objects(d, "--all") for role in roles(page)]
    equal((every.count("get"), every.count("put")), (d.printed("gets"), d.printed("puts")), "gets and puts")
    check("unobserved" not in every, "all changes are events")
    d.cont()
    d.expect_exit(0)
    equal({page["state"] for page in objects(d, "--all")}, {"dead"}, "at the end")
