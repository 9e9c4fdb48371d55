"""The place where a pointer is kept without a reference is the first suspect, and what is only moved is none."""

from harness.checks import contains, equal
from harness.shapes import check_findings, source_line

TRACKED = "--name {0} --init {0}_new --get {0}_get --put {0}_put --type 'struct {0}' --count refs"


def run(d, *way):
    d.refhist("set allocators auto")
    d.track("malloc")
    for name in ("icon", "font", "shape", "page", "lamp"):
        d.track(TRACKED.format(name))
    d.run(*way)


def place(d, way):
    run(d, way)
    status, found = check_findings(d)
    equal(status, 23, "exit status")
    suspects = found[0]["suspects"]
    equal(suspects[0]["what"], "missing get", "kind of the first suspect")
    contains(source_line(suspects[0]), f"// {way}", f"the line of {suspects[0]}")
    equal([one["line"] for one in suspects if one["function"] == "button_take"], [], "lines of button_take")
    return suspects[0]["why"]


def test_right(d):
    run(d)
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


def test_stored(d):
    contains(place(d, "stored"), "button_copy keeps the object in", "why")


def test_copied(d):
    contains(place(d, "copied"), "cursor_clone keeps the object in", "why")


def test_picked(d):
    contains(place(d, "picked"), "passes the object to menu_add, which keeps it in", "why")


def test_returned(d):
    contains(place(d, "returned"), "find returns the object here without a reference; elsewhere it takes one", "why")


def test_gathered(d):
    """clang stores what either way has chosen in one place, behind more ways than are followed: nothing is named."""
    if d.case.variant == "clang":
        run(d, "gathered")
        status, found = check_findings(d)
        kept = [one for one in found[0]["suspects"] if "keeps the object in" in one["why"]]
        equal((status, kept), (23, []), "exit status, and stores that are told")
        return
    contains(place(d, "gathered"), "panel_light keeps the object in", "why")
