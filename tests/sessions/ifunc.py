"""Functions that are chosen at load time: the chosen one is armed, whether it was chosen before or after that."""

import os

from harness.checks import equal
from harness.shapes import hits, only, objects

TRACK = "--name conn --init conn_new --get chosen_get --get late_get --put conn_put --free conn_free --count refs"


def library(d):
    return os.path.join(d.case.build, "tests/sessions/libsession_ifunc.so")


def events(d):
    conn = only(objects(d), "objects")
    roles = [event["role"] for event in conn["events"]]
    equal((roles.count("get"), roles.count("put")), (7, 7), "gets and puts")
    equal(conn["count"], 1, "count")


def test_armed_before(d):
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.break_at("checkpoint")
    d.run(library(d))
    d.expect_stop(function="checkpoint")
    events(d)
    d.cont()
    d.expect_exit(13)


def test_armed_after(d):
    d.break_at("conn_new")
    d.run(library(d))
    d.expect_stop(function="conn_new")
    d.track(TRACK)
    d.refhist("break-on-imbalance")
    d.break_at("checkpoint")
    d.cont()
    d.expect_stop(function="checkpoint")
    seen = hits(d.refhist_json("status"))
    equal((seen["chosen_get"], seen["late_get"]), (3, 4), "gets")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(13)
