"""A family of all instances of a template, by a glob for its type; and inlined copies whose object lies in the frame."""

from harness.checks import check, contains, equal
from harness.shapes import check_findings, objects, role_totals, roles

FAMILY = """
schema = 1
[[family]]
name = "counted"
type = "base::RefCounted*"
count = "count_"
born = 0
managed = ["<derived>"]
init = [{ function = "base::RefCounted<*>::RefCounted", event = "change" }]
get = ["base::RefCounted<*>::AddRef"]
put = ["base::RefCounted<*>::Release"]
"""


def test_each_reference_is_one_event(d):
    d.track(f"--probes {d.write_file('counted.toml', FAMILY)}")
    d.break_at("checkpoint")
    d.run()
    every = objects(d, "--all")
    equal(len(every), d.printed("births"), "births")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")
    totals = role_totals(every)
    equal((totals["get"], totals["put"]), (d.printed("gets"), d.printed("puts")), "gets and puts")
    equal([site for site in d.refhist_json("status --sites")["sites"] if site["why_not"]], [], "sites that are not armed")
    d.cont()
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_pointer_to_the_type(d):
    d.track(f"--probes {d.write_file('counted.toml', FAMILY.replace('RefCounted*', 'RefCounted<Upload> *'))}")
    d.break_at("checkpoint")
    d.run()
    check(len(objects(d, "--all")) >= 1, "its counter was not found")


def test_no_such_type(d):
    text = d.refhist(f"track --probes {d.write_file('counted.toml', FAMILY.replace('RefCounted*', 'Refcounted*'))}")
    d.run()
    contains(text + d.refhist("status"), "no loaded module has debug information for base::Refcounted*", "note")
