"""break-on-count and break-on-event: before the get, at the very event."""

from harness.checks import contains, equal, lacks, matches
from harness.shapes import objects


def address_of_many(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    address = d.value("many")
    d.delete_breakpoints()
    return f"{address:#x}"


def test_count_above(d):
    d.track_conn()
    d.refhist("break-on-count --above 3")
    contains(d.run(), "count 3 -> 4", "the line that says why")
    d.expect_stop(function="conn_get", caller="take")
    equal(d.value("many->refs"), 3, "the get has not run")
    contains(d.cont(), "count 4 -> 5", "the next get")
    d.cont()
    d.expect_exit(0)


def test_count_of_one_object(d):
    address = address_of_many(d)
    d.refhist(f"break-on-count --above 2 --object {address}")
    contains(d.run(), f"{address}, count 2 -> 3", "the line that says why")


def test_event_of_an_object(d):
    address = address_of_many(d)
    d.refhist(f"break-on-event --object {address} --number 7")
    contains(d.run(), f"event 7 of conn {address} (generation 1): put, count 4 -> 3", "the line that says why")
    d.expect_stop(function="conn_put", caller="give")
    equal(d.value("many->refs"), 4, "the put has not run")
    d.cont()
    d.expect_exit(0)


def test_event_as_it_is_printed(d):
    address = address_of_many(d)
    d.cont()
    d.expect_exit(0)
    first = [thing for thing in objects(d, "--all") if (thing["address"], thing["generation"]) == (address, 1)][0]
    seventh = first["events"][6]["seq"]
    matches(d.refhist(f"{address} --all"), rf"(?m)^ +7  #{seventh} ", "the line of the event")
    contains(d.refhist(f"break-on-event #{seventh}"), "--number 7", "the rule")
    contains(d.run(), f"event 7 of conn {address} (generation 1): put, count 4 -> 3", "the line that says why")


def test_event_of_a_generation(d):
    address = address_of_many(d)
    d.refhist(f"break-on-event --object {address} --number 2 --generation 2")
    contains(d.run(), "(generation 2): get, count 1 -> 2", "the line that says why")
    d.expect_stop(function="conn_get", caller="take")
    equal([o["generation"] for o in objects(d, "--all") if o["address"] == address], [1, 2], "generations")


def test_the_birth(d):
    address = address_of_many(d)
    d.refhist(f"break-on-event --object {address} --number 1")
    contains(d.run(), f"event 1 of conn {address} (generation 1): init", "the line that says why")
    d.expect_stop(function="main")


def test_wrong_arguments(d):
    contains(d.refhist_error("break-on-count"), "--above N", "no number")
    contains(d.refhist_error("break-on-count --above 0"), "1 or more", "zero")
    contains(d.refhist_error("break-on-count --above 2 --after main"), "has no option --after", "with --after")
    for rule in ("break-on-put-to-zero", "break-on-count", "break-on-event"):
        lacks(d.refhist(f"help {rule}"), "--after", f"help {rule}")
    contains(d.refhist_error("break-on-event #x1"), "expected # and an event number from a history", "no event")
    contains(d.refhist_error("break-on-event #99999999"), "there is no event #99999999", "an event that is not there")
    contains(d.refhist_error("break-on-event --number 3"), "--object ADDR", "no object")
    contains(d.refhist_error("break-on-event --object 0x1000"), "--number N", "no number")
