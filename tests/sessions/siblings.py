"""Which put is missing is told by comparison with the objects that were born at the same place and released."""

from harness.checks import contains, equal
from harness.shapes import leaks, only


def test_the_missing_put(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run()
    d.expect_stop()
    found = only(leaks(d), "leak groups")
    equal((found["verdict"], len(found["objects"])), ("leak", 3), "verdict and number of leaked objects")
    equal([(s["function"], s["what"], s["confidence"]) for s in found["suspects"]],
          [("main", "missing put", "candidate"), ("close_conn", "missing put", "candidate")], "suspects")
    contains(found["suspects"][1]["why"], "20 of 20", "why")
    text = d.refhist("leaks")
    contains(text, "close_conn", "leaks")
    contains(text, "20", "leaks")


def test_suppressed(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run()
    d.expect_stop()
    path = d.write_file("leaks.supp", "leak:main\nleak:no_such_function\nover-put:*\n")
    told = d.refhist_json(f"leaks --suppressions {path}")
    equal((told["leaks"], told["suppressed"]), ([], 3), "leaks, suppressed objects")
    text = d.refhist(f"leaks --suppressions {path}")
    contains(text, "3 objects suppressed", "leaks")
    contains(text, "nothing is leaked", "leaks")
    contains(text, "suppression leak:no_such_function", "leaks")
    contains(d.refhist("leaks"), "close_conn", "leaks without")
    contains(d.refhist_error("leaks --suppressions /no/such/file"), "/no/such/file", "a file that is not there")
