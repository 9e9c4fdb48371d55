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
    suspect = found["suspects"][0]
    equal((suspect["function"], suspect["what"], suspect["confidence"]), ("close_conn", "missing put", "candidate"),
          "suspect")
    contains(suspect["why"], "20", "why")
    text = d.refhist("leaks")
    contains(text, "close_conn", "leaks")
    contains(text, "20", "leaks")
