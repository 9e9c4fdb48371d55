"""track auto: the shipped families, and what is counted in the program itself."""

from harness.checks import check, contains, equal
from harness.shapes import leaks, only


def test_the_programs_own_type(d):
    text = d.refhist("track auto")
    contains(text, "shipped families, each as soon as its library is loaded", "the shipped ones")
    contains(text, "tracking conn in session_siblings_O1: conn_new, conn_get, conn_put (names match; ", "the program's own")
    d.refhist("break-on-leak")
    contains(d.run(), "3 objects leaked: 3 conn", "the line that says why")
    equal((len(only(leaks(d), "groups")["objects"])), 3, "leaked objects")
    status = d.refhist("status")
    check("json_object" not in status, f"status tells of a library that is not there:\n{status}")
    contains(d.refhist("untrack conn"), "conn", "untrack")


def test_beside_what_is_named(d):
    d.track_conn()
    text = d.refhist("track auto")
    contains(text, "not tracked: ", "what is tracked already")
    d.refhist("break-on-leak")
    contains(d.run(), "3 objects leaked: 3 conn", "the line that says why")


def test_twice(d):
    d.refhist("track auto")
    contains(d.refhist("track auto"), "tracking 0 shipped families", "the second time")


def test_a_library_that_is_linked_into_the_program(d):
    path = d.write_file("conn.toml", """schema = 1
[[family]]
name = "conn"
description = "of a library that others load"
modules = ["libconn.so*"]
type = "struct conn"
count = "refs"
init = ["conn_new"]
get = ["conn_get"]
put = ["conn_put"]
""")
    d.refhist(f"track --probes {path}")
    d.refhist("break-on-leak")
    contains(d.run(), "3 objects leaked: 3 conn", "the line that says why")
