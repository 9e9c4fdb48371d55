"""Virtual gets and puts through another base of the object: one event for each call, of one object."""

from harness.checks import check, equal
from harness.shapes import objects, only, roles


def track(d, get, put):
    d.track(f"--name Socket --init open_socket --get {get} --put {put} --count m_refs")
    d.break_at("checkpoint")
    d.run()


def check_history(d):
    subject = only(objects(d, "--all"), "objects")
    equal(roles(subject).count("get"), d.printed("gets"), "gets")
    equal(roles(subject).count("put"), d.printed("puts"), "puts")
    check("unobserved" not in roles(subject), f"all changes are events: {roles(subject)}")
    equal(subject["count"], 3, "count")
    d.cont()
    d.expect_exit(3)
    equal(only(objects(d, "--all"), "objects")["state"], "dead", "at the end")


def test_by_the_functions_names(d):
    track(d, "Socket::AddRef", "Socket::Release")
    check_history(d)


def test_every_overrider(d):
    track(d, "'*::AddRef'", "'*::Release'")
    check_history(d)
