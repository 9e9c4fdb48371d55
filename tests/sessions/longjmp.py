"""A probed call that is left by longjmp has no result; later calls are not mistaken for it."""

from harness.checks import equal
from harness.shapes import objects, roles


def test_only_calls_that_return_give_birth(d):
    d.track("--init conn_open --get conn_get --put conn_put --free conn_free --count refs")
    d.break_at("checkpoint")
    d.run()
    live = objects(d)
    equal(sorted(int(o["address"], 16) for o in live), sorted([d.value("made[1]"), d.value("made[3]")]), "objects")
    equal([roles(o) for o in live], [["init"], ["init"]], "roles")
    d.cont()
    d.expect_exit(0)
    equal({o["state"] for o in objects(d, "--all")}, {"dead"}, "states")
