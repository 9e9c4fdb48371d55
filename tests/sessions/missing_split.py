"""The .dwo files that a program was built with are gone: inlined copies are not known, and nobody is accused of what they did."""

from harness.checks import check, contains, equal

TRACK = "--name conn --init conn_new --put last_put --free conn_free --count-offset 12"


def test_it_is_said(d):
    d.track(TRACK)
    d.run()
    d.expect_exit(2)
    contains(d.refhist("status"), "inlined.c.dwo was not found: inlined copies there are not known", "status")
    check(any("inlined.c.dwo" in note for note in d.refhist_json("status")["notes"]), "not among the notes")


def test_a_free_is_not_accused(d):
    d.track(TRACK)
    d.run()
    d.expect_exit(2)
    verdicts = {finding["verdict"] for finding in d.refhist_json("leaks")["leaks"]}
    check("free-while-referenced" not in verdicts, f"accused: {verdicts}")


def test_a_function_that_may_be_inlined(d):
    contains(d.refhist_error("track --get conn_get --put conn_put --count refs"), "inlined.c.dwo was not found", "the error")
    d.run()
    d.expect_exit(2)
