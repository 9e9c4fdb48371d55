"""All overriders of AddRef and Release, of classes that have their count in a common base."""

from harness.checks import check, equal
from harness.shapes import objects, role_totals, roles

ALL = "--init open_socket --init open_file --get '*::AddRef' --put '*::Release' --count m_refs"


def test_every_overrider(d):
    d.track(f"--name thing {ALL}")
    d.break_at("checkpoint")
    d.run()
    every = objects(d, "--all")
    totals = role_totals(every)
    equal((len(every), totals["get"], totals["put"]), (2, d.printed("gets"), d.printed("puts")), "objects, gets and puts")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")
    check(d.refhist_json("status")["families"][0]["counter"], "the counter is not read")
    d.cont()
    d.expect_exit(6)
    check(all((thing["state"], thing["count"]) == ("dead", 0) for thing in objects(d, "--all")), "at the end")


def test_put_to_zero(d):
    d.track(f"--name thing {ALL}")
    d.refhist("break-on-put-to-zero")
    d.run()
    equal(d.value("((Socket*)socket_made)->m_refs._M_i"), 1, "the count when the program stands before the put")
