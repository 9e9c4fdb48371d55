"""A put of what its function has only borrowed is the first suspect. The types tell where functions have their object."""

from harness.checks import contains, equal
from harness.shapes import check_findings, events_of, source_line

TRACKED = "--name book --init book_new --get book_get --put book_put"


def run(d, *way):
    d.refhist("set allocators auto")
    d.refhist("set quarantine 1M")
    d.track("malloc")
    d.track(TRACKED)
    d.run(*way)


def place(d, way):
    run(d, way)
    status, found = check_findings(d)
    equal(status, 23, "exit status")
    suspect = found[0]["suspects"][0]
    equal(suspect["what"], "extra put", "kind of the first suspect")
    contains(source_line(suspect), f"// {way}", f"the line of {suspect}")
    return suspect


def test_right(d):
    run(d)
    d.expect_exit(0)
    equal(len(events_of(d, "get")), 24, "gets")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_lent(d):
    contains(place(d, "lent")["why"], "pages_of gives back here what shelf_book has only lent it", "why")


def test_again(d):
    contains(place(d, "again")["why"], "has given it back before on the same path", "why")


def test_handed(d):
    suspect = place(d, "handed")
    contains(suspect["why"], "what it has passed to shelf_set0_book, which takes the reference over", "why")
    equal(suspect["confidence"], "named", "confidence")
