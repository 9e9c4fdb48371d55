"""Families whose user does not tell with how many references an object is born: the code of what makes it does."""

from harness.checks import check, contains, equal
from harness.shapes import check_findings, events_of, verdicts

FAMILIES = {"Tile": "--init Tile::Tile --get Tile::ref --put Tile::unref",
            "device": "--init device_init --get device_get --put device_put",
            "Entry": "--init Entry::Entry --get Entry::hold --put Entry::drop"}
BORN = {"Tile": "born: 0, read from the code of Tile::Tile",
        "device": "born: 0, read from the code of device_init",
        "Entry": "born: 2, read from the code of Entry::Entry"}


def track(d):
    d.case.left_to_breakpoints = 100  # short functions that a step goes into
    d.track("malloc")
    return {name: d.track(family) for name, family in FAMILIES.items()}


def births(d, family):
    return [event["count_after"] for event in events_of(d, "init", family)]


def test_the_number_is_found_and_told(d):
    track(d)
    d.break_at("checkpoint")
    d.run()
    status = d.refhist("status --sites")
    for name, told in BORN.items():
        contains(status, told, "status")
    equal({name: set(births(d, name)) for name in FAMILIES}, {"Tile": {0}, "device": {0}, "Entry": {2}}, "births")
    equal(events_of(d, "unobserved"), [], "changes that were not observed")


def test_a_right_program_has_no_finding(d):
    track(d)
    d.run()
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def leak_of(d, what, family, count):
    track(d)
    d.run(what)
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
    leaked = found[0]["object"]
    equal((leaked["family"], leaked["count"], found[0]["alike"]), (family, count, 1), "what is leaked")


def test_a_leak_of_what_is_born_without_a_reference(d):
    leak_of(d, "tile", "Tile", 1)


def test_a_leak_of_what_is_cleared(d):
    leak_of(d, "device", "device", 1)


def test_a_leak_of_what_is_born_with_two_references(d):
    leak_of(d, "entry", "Entry", 1)


def test_a_number_that_is_given_is_taken(d):
    d.case.left_to_breakpoints = 1
    d.track(FAMILIES["Tile"] + " --born 1")
    d.break_at("checkpoint")
    d.run()
    equal(set(births(d, "Tile")), {1}, "births")
    check("born:" not in d.refhist("status --sites"), "status tells a number that was given")
