"""malloc and operator new come along by default, inside the program; by breakpoints only when they are named."""

from harness.checks import IN_AGENT, agent_only, contains, equal, lacks, matches
from harness.shapes import check_findings, objects, only, roles

ITEM = "--init item_new --get item_get --put item_put --count refs"


def run_to_checkpoint(d, *settings):
    d.refhist("set allocators auto")
    for line in settings:
        d.refhist(line)
    d.track(ITEM)
    d.break_at("checkpoint")
    d.run()


def allocators(d):
    families = d.refhist_json("status")["families"]
    return [f["name"] for f in families if f["by_default"] and f["tracked"]]


def test_every_object_has_birth_size_and_death(d):
    run_to_checkpoint(d)
    lives = objects(d, "--all")[:4]
    whole = ["init", "get", "put", "put"]
    equal(roles(lives[0]), ["alloc", *whole, "free"] if IN_AGENT else whole, "roles")
    equal([o["size"] for o in lives], [48, 96, 48, 64] if IN_AGENT else [48] * 4, "sizes")
    if IN_AGENT:
        matches(d.refhist("status"), r"tracked: malloc \(by default\).*block", "status")
    else:
        contains(d.refhist("status"), "no allocator is tracked", "status")


def test_switched_off(d):
    run_to_checkpoint(d, "set allocators off")
    equal(roles(objects(d, "--all")[0]), ["init", "get", "put", "put"], "roles")
    equal(allocators(d), [], "by default")


def test_named(d):
    run_to_checkpoint(d)
    d.refhist("track malloc")
    lacks(allocators(d), "malloc", "by default")
    contains(d.refhist("status"), "allocators tracked: malloc", "status")
    lacks(d.refhist("status"), "malloc (by default)", "status")


@agent_only("no allocator is followed by breakpoints unless it is named")
def test_not_wanted_any_more(d):
    run_to_checkpoint(d)
    equal(allocators(d), ["malloc", "operator-new", "GSlice"], "by default")
    d.refhist("untrack malloc")
    d.refhist("track json_object")
    equal(allocators(d), ["operator-new", "GSlice"], "after untrack malloc")
    d.refhist("untrack item json_object")
    equal(allocators(d), [], "after the last family of the user's")


def test_the_users_own_family_claims_malloc(d):
    run_to_checkpoint(d)
    d.refhist("track --get malloc --put free --name mine")
    lacks(allocators(d), "malloc", "by default")


@agent_only("no allocator is followed by breakpoints unless it is named")
def test_free_while_referenced(d):
    d.refhist("set allocators auto")
    d.track(ITEM)
    d.refhist("break-on-imbalance")
    d.run("early-free")
    d.expect_stop(caller="main")
    status, findings = check_findings(d)
    equal((status, only(findings, "findings")["verdict"]), (23, "free-while-referenced"), "status, verdict")
