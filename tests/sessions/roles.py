"""try_get, objects born with count 0, a put that frees, a pointer to the pointer, put(NULL): from a TOML file."""

import os

from harness.checks import equal
from harness.shapes import counts, objects, roles

FAMILY = """
schema = 1
[[family]]
name = "handle"
description = "handle of the test"
type = "struct handle"
count = "refs"
born = 0
init = [{ function = "handle_new", object = "*1" }]
get = ["handle_ref"]
try_get = ["handle_try_ref"]
put = ["handle_free"]
"""


def track_from_file(d):
    path = os.path.join(d.case.scratch, "handle.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FAMILY)
    d.track(f"--probes {path}")


def succeeded(thing):
    """Events without the gets that failed: those leave the count as it is."""
    return [e["role"] for e in thing["events"] if e["count_before"] != e["count_after"] or e["role"] == "init"]


def test_live(d):
    track_from_file(d)
    d.break_at("checkpoint")
    d.run()
    subject = d.object("subject")
    equal(int(subject["address"], 16), d.value("subject"), "object whose pointer is stored through an argument")
    equal(succeeded(subject), ["init", "get", "try_get"], "roles")
    equal(counts(subject)[0][1], 0, "count at birth")
    equal(subject["count"], 2, "count")


def test_to_the_end(d):
    track_from_file(d)
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(10)
    (only,) = objects(d, "--all")
    equal((only["state"], roles(only).count("put")), ("dead", 2), "the object at the end")


def test_put_to_zero(d):
    track_from_file(d)
    d.refhist("break-on-put-to-zero")
    d.run()
    d.expect_stop(function="handle_free", caller="handle_clear")
    equal(d.value("subject->refs"), 1, "the counter before the put runs")
