"""Inlined gets and puts whose counter GLib's g_atomic_ref_count_inc() and g_atomic_ref_count_dec() change."""

from harness.checks import equal
from harness.shapes import check_findings, objects, role_totals, verdicts

TRACK = "--name track --init track_new --get track_ref --put track_unref --type 'struct track' --count refs"
ROUNDS = 12


def test_every_change_is_an_event(d):
    d.track(TRACK)
    d.run()
    d.expect_exit()
    every = objects(d, "--all")
    totals = role_totals(every)
    equal([totals[role] for role in ("init", "get", "put")], [ROUNDS, ROUNDS, 2 * ROUNDS], "events")
    equal({thing["complete"] for thing in every}, {True}, "complete")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_leak(d):
    d.refhist("break-on-leak")
    d.track(TRACK)
    d.run("leak")
    d.expect_stop()
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
