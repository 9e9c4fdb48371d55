"""The object that was forgotten is told, not what it holds; and whoever had the reference in hand is the first suspect."""

from harness.checks import check, contains, equal, lacks
from harness.shapes import check_findings, leaks, only, source_line

ITEM = "--name item --init item_new --get item_get --put item_put --type 'struct item' --count refs"
STORE = "--name store --init store_new --get store_get --put store_put --type 'struct store' --count refs"


def begin(d):
    d.track(ITEM)
    d.track(STORE)
    d.refhist("break-on-leak")


def told(d):
    """The one leak that is not held by another one."""
    return only([group for group in leaks(d) if not group["consequence"]], "leaks of their own")


def test_right(d):
    begin(d)
    d.run()
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


def test_the_item_and_not_its_store(d):
    begin(d)
    contains(d.run("item"), "1 item", "the line that says why")
    found = told(d)
    equal((found["family"], found["reach"], found["cycle"]), ("item", "unreachable", []), "what is leaked")
    text = d.refhist("leaks")
    contains(text, "1 item leaked: nothing points at it", "leaks")
    contains(text, "1 store held only by leaked objects", "leaks")
    lacks(text, "cycle", "leaks")


def test_what_a_lookup_returns(d):
    begin(d)
    d.run("lookup")
    found = told(d)
    first = found["suspects"][0]
    equal((found["family"], first["function"], first["what"]), ("item", "check_item", "missing put"), "first suspect")
    check("forgotten" in source_line(first), f"the way out on which it is forgotten: {first}")


def test_what_a_helper_makes(d):
    begin(d)
    d.run("helper")
    found = told(d)
    first = found["suspects"][0]
    equal((found["family"], first["function"], first["what"]), ("item", "use_d", "missing put"), "first suspect")
