"""Rules that look at what one call left behind, at its return."""

from harness.checks import contains, matches


def test_leak_of_one_call(d):
    d.track_conn()
    d.refhist("break-on-leak --after handle")
    screen = d.run()
    d.expect_stop(function="main")
    contains(screen, "handle", "the line that says why")
    matches(screen, "(?i)leak", "the line that says why")
    d.cont()
    d.expect_exit(0)


def test_net_change(d):
    d.track_conn()
    d.refhist("break-on-imbalance --after keep")
    screen = d.run()
    d.expect_stop(function="main")
    contains(screen, "keep", "the line that says why")
    contains(screen, f"{d.value('subject'):#x}", "the line that says why")


def test_expected_change(d):
    d.track_conn()
    d.refhist("break-on-imbalance --after keep --expect 1")
    d.run()
    d.expect_exit(0)


def test_balanced_call(d):
    d.track_conn()
    d.refhist("break-on-imbalance --after balanced")
    d.refhist("break-on-leak --after balanced")
    d.run()
    d.expect_exit(0)
