"""Families whose user names functions and nothing else: the rest is found out, and told."""

from harness.checks import check, contains, equal, matches
from harness.shapes import check_findings, objects, role_totals, roles, source_line, verdicts

FAMILIES = {"route": "--init route_new --get route_take --put route_leave",
            "buffer": "--init buffer_new --get buffer_share --put buffer_clear",
            "counted": "--name counted --init device_make --get counted_take --put counted_leave"}
COUNTERS = {"route": "its counter is in state of route, in steps of 4: route_take and route_leave change it",
            "buffer": "its counter is in users of buffer: buffer_share and buffer_clear change it",
            "counted": "its counter is in count of counted: counted_take and counted_leave change it"}


def track(d):
    d.case.left_to_breakpoints = 100  # copies stand close together
    d.track("malloc")
    for family in FAMILIES.values():
        d.track(family)


def of(d, family, options="--all"):
    return [thing for thing in objects(d, options) if thing["family"] == family]


def test_the_counter_is_found_and_told(d):
    track(d)
    d.break_at("checkpoint")
    d.run()
    text = d.refhist("status --sites")
    for told in COUNTERS.values():
        contains(text, told, "status")
    notes = {family["name"]: family["counter_note"] for family in d.refhist_json("status")["families"]}
    equal({name: notes[name] for name in COUNTERS}, COUNTERS, "notes")


def test_each_call_is_one_event(d):
    track(d)
    d.break_at("checkpoint")
    d.run()
    totals = role_totals(of(d, "route"))
    equal([totals["init"], totals["get"], totals["put"]], [d.value(name) for name in ("births", "taken", "given")],
          "events of the routes")
    equal({" ".join(roles(thing)) for thing in of(d, "buffer")}, {"alloc init get put put free"}, "lives of the buffers")
    bus, *others = of(d, "counted")
    equal(len(others), 4, "devices")
    equal([event["count_after"] for event in bus["events"] if event["role"] == "init"], [1], "count of the new bus")
    for family in FAMILIES:
        check(not any("unobserved" in roles(thing) for thing in of(d, family)), f"a change of {family} was not observed")


def test_a_right_program_has_no_finding(d):
    track(d)
    d.run()
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def finding_of(d, what, verdict):
    track(d)
    d.run(what)
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, [verdict]), "exit status and verdicts")
    return found[0]


def of_line(suspect, mark):
    contains(source_line(suspect), mark, f"the line of {suspect['what']} in {suspect['function']}")


def test_a_leak_of_what_is_inlined_everywhere(d):
    finding = finding_of(d, "route", "leak")
    suspect = finding["suspects"][0]
    equal((suspect["what"], suspect["function"]), ("missing put", "routes"), "first suspect")


def test_a_leak_of_what_lies_inside(d):
    finding = finding_of(d, "device", "leak")
    of_line(finding["suspects"][0], "the leak of a device")


def test_a_put_too_many_by_the_pointers_place(d):
    finding = finding_of(d, "buffer", "use-after-free")
    of_line(finding["suspects"][0], "the put too many")


def test_a_counter_that_is_given_is_not_sought(d):
    d.track(FAMILIES["buffer"] + " --count length")
    d.break_at("checkpoint")
    d.run()
    equal(d.refhist_json("status")["families"][0]["counter_note"], "", "the note")
    matches(d.refhist("objects --all"), r"buffer 0x[0-9a-f]+: ", "buffers")
