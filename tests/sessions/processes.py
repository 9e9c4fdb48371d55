"""fork, vfork and exec: the process that is followed is recorded, the other one lives on unharmed."""

from harness.checks import equal
from harness.shapes import objects, role_totals


def gets_and_puts(d):
    """Of the object that was born last."""
    totals = role_totals(objects(d, "--all")[-1:])
    return totals.get("get", 0), totals.get("put", 0)


def test_fork_following_the_parent(d):
    d.follow_fork("parent")
    d.track_conn()
    d.run("fork")
    d.expect_exit(4)
    equal(d.printed("child"), 21, "end of the child")
    equal(gets_and_puts(d), (3, 4), "gets and puts of the parent")


def test_fork_following_the_child(d):
    d.follow_fork("child")
    d.track_conn()
    d.run("fork")
    d.expect_exit(21)
    equal(gets_and_puts(d), (5, 5), "gets and puts of the child")


def test_vfork_following_the_parent(d):
    d.follow_fork("parent")
    d.track_conn()
    d.run("vfork")
    d.expect_exit(4)
    equal(d.printed("child"), 22, "end of the child")
    equal(gets_and_puts(d), (3, 4), "gets and puts of the parent")


def test_vfork_following_the_child(d):
    d.follow_fork("child")
    d.track_conn()
    d.run("vfork")
    d.expect_exit(22)
    equal(gets_and_puts(d), (5, 6), "gets and puts of the child")


def test_exec(d):
    d.track_conn()
    d.run("exec")
    d.expect_exit(22)
    equal(gets_and_puts(d), (5, 6), "gets and puts after exec")


def test_rules_hold_after_exec(d):
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    d.run("exec")
    d.expect_stop(function="conn_put", caller="main")
    d.cont()
    d.expect_exit(22)
