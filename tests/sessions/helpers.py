"""Whoever had a reference in hand is named, and not the functions that take and give back for everybody."""

from harness.checks import check, contains, equal
from harness.shapes import check_findings, leaks, only, source_line

PARTS = """
schema = 1
[[family]]
name = "part"
type = "parts::Part"
count = "refs_"
managed = ["<derived>"]
init = [{ function = "parts::Part::Part", event = "change" }]
get = ["parts::Part::AddRef"]
put = ["parts::Part::Release"]
"""


def begin(d, how):
    d.refhist(f"track --probes {d.write_file('parts.toml', PARTS)}")
    d.run(how)
    d.expect_exit(0)


def first_suspect(d):
    found = only(leaks(d), "leaks")
    first = found["suspects"][0]
    return first, source_line(first)


def expect_lost_in(d, how, *functions):
    begin(d, how)
    first, line = first_suspect(d)
    equal(first["what"], "missing put", "what")
    check(first["function"].split("(")[0] in functions, f"whoever had it in hand: {first}")
    return line


def test_right(d):
    begin(d, "right")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_overrides(d):
    """The put on the other way is never made, and a virtual one: the code does not say that it is one."""
    expect_lost_in(d, "override", "fade")


def test_smart_pointer(d):
    expect_lost_in(d, "pointer", "main", "send")


def test_cleared_variable(d):
    contains(expect_lost_in(d, "cleanup", "measure"), "lost: cleanup", "line of the first suspect")
