"""Families with an allocator of their own and pools: size at birth, and a pool that ends with objects still out."""

from harness.checks import equal
from harness.shapes import check_findings, objects, only, roles

FAMILY = """
schema = 1
[[family]]
name = "item"
description = "item of the test"
type = "struct item"
count = "refs"
alloc = [{ function = "item_alloc", size = 2, pool = 1 }]
init = [{ function = "item_new", pool = 1 }]
get = ["item_get"]
put = ["item_put"]
pool_create = [{ function = "pool_create", object = "return" }]
pool_destroy = ["pool_destroy"]
"""


def track_items(d):
    d.track("--probes " + d.write_file("item.toml", FAMILY))


def test_objects_of_the_pool(d):
    track_items(d)
    d.break_at("checkpoint")
    d.run()
    kept = d.object("kept")
    equal((roles(kept), kept["size"]), (["alloc", "init", "get"], 16), "roles and size")
    equal([o["address"] for o in objects(d)], [kept["address"]], "live objects")


def test_pool_that_ends_with_an_object_still_out(d):
    track_items(d)
    d.break_at("checkpoint")
    d.run()
    kept = d.value("kept")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    status, findings = check_findings(d)
    finding = only(findings, "findings")
    equal((status, finding["verdict"], int(finding["object"]["address"], 16)), (23, "free-while-referenced", kept),
          "exit status, verdict, object")


def test_stop_before_the_pool_ends(d):
    track_items(d)
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_stop(function="pool_destroy", caller="main")
