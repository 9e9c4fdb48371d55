"""A library that comes, goes, and comes back at another address is armed each time it is there."""

import os

from harness.checks import equal, lacks
from harness.shapes import objects, role_totals


def library(d):
    return os.path.join(d.case.build, "tests/sessions/libsession_plugin.so")


def test_both_times(d):
    d.track_conn()
    d.run(library(d))
    d.expect_exit(5)
    equal(d.printed("moved"), 1, "whether the library moved")
    totals = role_totals(objects(d, "--all"))
    equal((totals["init"], totals["get"], totals["put"]), (2, 10, 12), "births, gets, puts")


def test_track_before_the_library_is_known(d):
    answer = d.track_conn()
    lacks(answer.lower(), "error", "answer to track")
    d.break_at("checkpoint")
    d.run(library(d))
    d.expect_stop(function="checkpoint")
    equal(role_totals(objects(d)), {"init": 1, "get": 4, "put": 4}, "events")


def test_quiet_on_the_screen(d):
    d.track_conn()
    screen = d.run(library(d))
    lacks(screen.lower(), "cannot", "screen")
    # GDB 16's own, told once for each unloading, since it disables the breakpoints of plugins (docs/guide.md, limits).
    own = [line for line in screen.splitlines() if "Temporarily disabling breakpoints for unloaded shared library" not in line]
    lacks("\n".join(own).lower(), "warning", "screen")
