"""The global allocator, tracked on request: birth, size and death of an object's memory; realloc; use after free."""

from harness.checks import contains, equal
from harness.shapes import check_findings, objects, only, roles

ITEM = "--init item_new --get item_get --put item_put --count refs"


def track(d):
    d.track("malloc operator-new")
    d.track(ITEM)


def test_birth_size_and_death(d):
    track(d)
    d.break_at("checkpoint")
    d.run()
    lives = objects(d, "--all")[:4]
    equal([o["size"] for o in lives], [48, 96, 48, 64], "sizes")
    for life in lives:
        equal(roles(life), ["alloc", "init", "get", "put", "put", "free"], "roles")
    equal([life["events"][0]["site"] for life in lives],
          ["malloc", "calloc", "malloc", "posix_memalign"], "who gave the memory (operator new asks malloc)")


def test_realloc_moves_the_object(d):
    track(d)
    d.break_at("checkpoint")
    d.run()
    old, new = objects(d, "--all")[-2:]
    equal((old["state"], new["state"], new["count"], new["size"]), ("dead", "live", 1, 5000), "states, count, size")
    equal(int(new["address"], 16), d.value("moved"), "new address")
    contains(old["note"], new["address"], "note of the old object")
    equal(roles(new), ["realloc"], "the realloc that fails is no event")


def test_free_while_referenced(d):
    track(d)
    d.refhist("break-on-imbalance")
    d.run("early-free")
    d.expect_stop(caller="main")
    status, findings = check_findings(d)
    equal((status, only(findings, "findings")["verdict"]), (23, "free-while-referenced"), "status, verdict")


def test_get_after_free(d):
    track(d)
    d.refhist("break-on-imbalance")
    d.run("late-get")
    d.expect_stop(caller="main")
    status, findings = check_findings(d)
    equal((status, only(findings, "findings")["verdict"]), (23, "use-after-free"), "status, verdict")


def test_status_says_what_is_unknown_without_it(d):
    d.track(ITEM)
    contains(d.refhist("status"), "no allocator is tracked", "status")
