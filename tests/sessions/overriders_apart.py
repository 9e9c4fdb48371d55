"""Overriders of classes that have their counts at different places: never read at the wrong one."""

from harness.checks import check, contains, equal
from harness.shapes import objects, role_totals, roles

OPEN = "--init open_socket --init open_file --init open_pipe"


def test_together_without_the_counter(d):
    d.track(f"--name thing {OPEN} --get '*::AddRef' --put '*::Release' --count m_refs")
    d.break_at("checkpoint")
    d.run()
    contains(d.refhist("status"), "a family of its own for each type can track them", "status")
    every = objects(d, "--all")
    totals = role_totals(every)
    equal((len(every), totals["get"], totals["put"]), (3, d.printed("gets"), d.printed("puts")), "objects, gets and puts")
    check(not any("unobserved" in roles(thing) for thing in every), "read at the wrong place")
    d.cont()
    d.expect_exit(6)
    check(all(thing["state"] == "dead" for thing in objects(d, "--all")), "at the end")


def test_a_family_for_each(d):
    for name in ("Socket", "File", "Pipe"):
        d.track(f"--name {name} --init open_{name.lower()} --get {name}::AddRef --put {name}::Release --count m_refs")
    d.break_at("checkpoint")
    d.run()
    check(all(family["counter"] for family in d.refhist_json("status")["families"] if family["name"] in ("Socket", "File", "Pipe")),
          "a counter is not read")
    every = objects(d, "--all")
    equal([thing["count"] for thing in every], [2, 2, 2], "counts")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")


def test_named_and_all(d):
    """The first type is named by its constructor only: the others' counts are not read at its place."""
    d.track("--name thing --init open_socket --get '*::AddRef' --put '*::Release' --count m_refs")
    d.run()
    d.expect_exit(6)
    check(not any("unobserved" in roles(thing) for thing in objects(d, "--all")), "read at the wrong place")
