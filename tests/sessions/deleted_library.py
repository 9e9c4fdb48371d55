"""A library whose file is gone when it is first looked at: read from memory where nothing else is left."""

import os
import shutil

from harness.checks import contains, equal
from harness.shapes import called_from, only, objects, role_totals


def copied_library(d):
    path = os.path.join(d.case.scratch, "libgone.so")
    shutil.copy(os.path.join(d.case.build, "tests/sessions/libsession_plugin.so"), path)
    return path


def expect_all_recorded(d):
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(5)
    whole = only(objects(d, "--all"), "objects")
    equal(role_totals([whole]), {"init": 1, "get": 4, "put": 5, "free": 1}, "events")
    for event in whole["events"]:
        called_from(event, "main")
        equal(event["truncated"], False, "whether the stack was cut short")
    called_from(whole["events"][0], "plugin_use")


def test_local(d):
    d.break_at("deleted")
    d.run(copied_library(d))
    d.expect_stop(function="deleted")
    d.track_conn("--count-offset 4")
    expect_all_recorded(d)


def test_through_a_debug_server(d):
    path = copied_library(d)
    d.break_at("deleted")
    d.connect_to_server(path)
    d.cont()
    d.expect_stop(function="deleted")
    d.track_conn("--count-offset 4")
    if d.name == "gdb":  # LLDB finds out that the server is on this machine, where the kernel still has the file
        contains(d.refhist("status"), f"read from memory: {path}: ", "status")
    expect_all_recorded(d)
