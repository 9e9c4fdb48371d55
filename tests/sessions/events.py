"""Roles, counts, threads and stacks of the events of one object."""

import os
import re

from harness.checks import check, contains, equal
from harness.shapes import called_from, counts, functions, in_order, roles


def stop_after_first_give_back(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    d.cont()
    d.cont()
    d.expect_stop(function="checkpoint")


def test_events_of_a_live_object(d):
    stop_after_first_give_back(d)
    subject = d.object("subject")
    equal(roles(subject), ["init", "get", "get", "put"], "roles")
    equal([after for _, after in counts(subject)], [1, 2, 3, 2], "counts after")
    equal([before for before, _ in counts(subject)][1:], [1, 2, 3], "counts before")
    equal(subject["count"], d.value("subject->refs"), "count")
    equal(int(subject["address"], 16), d.value("subject"), "address")
    equal((subject["state"], subject["generation"], subject["complete"]), ("live", 1, True), "object")
    equal(subject["family"], "conn", "family")
    in_order(subject)


def test_stacks(d):
    stop_after_first_give_back(d)
    init, first, second, put = d.object("subject")["events"]
    for event, caller in ((init, "main"), (first, "take"), (second, "take"), (put, "give_back")):
        called_from(event, caller)
        called_from(event, "main")
    check(functions(put).index("give_back") < functions(put).index("main"), f"order of {functions(put)}")
    lines = [frame["line"] for frame in put["stack"] if frame["function"] == "give_back"]
    source = open(d.case.folder + "/events.c", encoding="utf-8").read().splitlines()
    check(any("conn_put" in source[line - 1] for line in lines if line), f"lines of give_back: {lines}")


def test_thread(d):
    stop_after_first_give_back(d)
    events = d.object("subject")["events"]
    name = os.path.basename(d.program)[:15]
    equal([event["thread"] for event in events], [{"id": d.threads()[0], "name": name}] * 4, "threads")


def test_after_its_death(d):
    stop_after_first_give_back(d)
    subject = d.value("subject")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    dead = d.object(f"{subject:#x}")
    equal(dead["state"], "dead", "state")
    equal([r for r in roles(dead) if r != "free"], ["init", "get", "get", "put", "put", "put"], "roles")
    equal(roles(dead).count("free"), 1, "frees")
    equal(dead["died"]["role"] in ("put", "free"), True, "role of its death")
    in_order(dead)


def test_interior_pointer_and_register(d):
    stop_after_first_give_back(d)
    whole = d.object("subject")
    equal(d.object("&subject->refs")["address"], whole["address"], "object of an interior pointer")
    d.break_at("conn_put")
    d.cont()
    d.expect_stop(function="conn_put")
    equal(d.object("$rdi")["address"], whole["address"], "object of a register")


def test_text_of_the_history(d):
    stop_after_first_give_back(d)
    text = d.refhist("subject")
    for part in ("conn", "init", "get", "put", "give_back", "take"):
        contains(text, part, "history")
    contains(d.refhist("subject --stacks"), "main", "history with stacks")
    check(re.search(r"0x[0-9a-f]+", text), "the history names no address")


def test_null_is_no_event(d):
    d.track_conn()
    d.run()
    d.expect_exit(0)
    equal(len(d.refhist_json("objects --all")["objects"]), 1, "objects")


def test_never_stops_without_a_rule(d):
    d.track_conn()
    d.run()
    d.expect_exit(0)
