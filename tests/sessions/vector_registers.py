"""A pointer that is only in a vector register holds its object: asked of the kernel, or of the debugger."""

from harness.checks import contains, equal
from harness.shapes import leaks, only


def expect_held_then_lost(d):
    contains(d.refhist("leaks --reachable"), "held by vector register of thread", "leaks at the first stop")
    equal(leaks(d), [], "leaks at the first stop")
    d.cont()
    group = only(leaks(d), "groups at the second stop")
    equal((group["reach"], len(group["objects"])), ("unreachable", 1), "leaks at the second stop")


def test_local(d):
    d.track_conn()
    d.run()
    d.expect_stop(function="main")
    expect_held_then_lost(d)


def test_through_a_debug_server(d):
    d.track_conn()
    d.connect_to_server()
    d.cont()
    d.expect_stop()
    expect_held_then_lost(d)
