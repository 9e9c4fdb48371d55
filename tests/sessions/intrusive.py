"""Counts in a base class that is not at the object's beginning: boost::intrusive_ref_counter, and one by configuration."""

from harness.checks import check, contains, equal
from harness.shapes import functions, objects, only, role_totals, roles

BUFFER = """
schema = 1
[[family]]
name = "buffer"
count = "count_"
managed = ["<derived>"]
init = [{ function = "net::RefCounted::RefCounted", event = "change" }]
get = ["net::RefCounted::Ref"]
put = ["net::RefCounted::Unref"]
"""


def track(d):
    d.refhist("track intrusive_ref_counter")
    d.track(f"--probes {d.write_file('buffer.toml', BUFFER)}")


def to_checkpoint(d, how=""):
    d.break_at("checkpoint")
    d.run(how)


def of_family(things, family):
    return [thing for thing in things if thing["family"] == family]


def test_each_reference_is_one_event(d):
    track(d)
    to_checkpoint(d)
    every = objects(d, "--all")
    check(all(thing["complete"] for thing in every), "a birth was not seen")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")
    shapes, buffers = of_family(every, "intrusive_ref_counter"), of_family(every, "buffer")
    equal((len(shapes), len(buffers)), (d.printed("shapes"), d.printed("buffers")), "births")
    ended = [thing for thing in shapes if thing["state"] == "dead"]
    equal(len(ended), d.printed("shapes_ended"), "ended")
    totals = role_totals(shapes)
    # boost's own: what a temporary pointer and a vector's copies take and give, as often as each other.
    equal(totals["get"] - totals["put"], d.printed("gets") - d.printed("puts"), "references that are left")
    totals = role_totals(buffers)
    equal((totals["get"], totals["put"]), (d.printed("refs"), d.printed("unrefs")), "gets and puts of the buffer")
    equal([site for site in d.refhist_json("status --sites")["sites"] if site["why_not"]], [], "sites that are not armed")


def test_the_users_object_is_shown(d):
    track(d)
    to_checkpoint(d)
    for name, type_ in (("subject", "Circle"), ("buffer", "net::Buffer")):
        thing = only(d.refhist_json(name)["objects"], f"objects of {name}")
        address = d.value(name)
        equal((thing["managed"]["type"], int(thing["managed"]["address"], 16)), (type_, address), "the user's object")
        equal(int(thing["address"], 16), address + 8, "the counted part of it")
        contains(d.refhist(name), f"of {type_} at {address:#x}", "text")
    contains(d.refhist("subject"), "<- keep(", "the owner of a reference")


def test_at_the_end_nothing_is_left(d):
    track(d)
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(4)
    every = objects(d, "--all")
    check(all((thing["state"], thing["count"]) == ("dead", 0) for thing in every), f"at the end: {every}")
    check(all(thing["managed"]["type"] in ("Circle", "net::Buffer") for thing in every), "types of the dead")
    status, text = d.ending_command("refhist check")
    equal(status, 0, text)


def test_a_leak(d):
    track(d)
    d.refhist("break-on-leak")
    contains(d.run("leak"), "leak", "the line that says why")
    d.expect_stop()
    group = only([g for g in d.refhist_json("leaks")["leaks"] if g["reach"] == "unreachable"], "leaks")
    check(any("lose" in name for event in group["references"] for name in functions(event)), "no reference is from lose")
    contains(d.refhist("leaks"), "Circle at", "the report")
