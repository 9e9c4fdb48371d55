"""Cycles that lead through memory that is no tracked object, and what only looks like one."""

import os

from harness.checks import check, contains, equal
from harness.shapes import leaks, only


def lost(d, mode, track):
    d.refhist(f"track {track}") if track else d.track_conn()
    d.refhist("break-on-leak")
    d.run(mode)
    d.expect_stop()
    return [group for group in leaks(d) if group["reach"] != "reachable"]


def the_cycle(d, groups, path, function):
    """The one group that has a cycle: one finding, with the line that closed it, and nobody else is suspected."""
    cycle = only([group for group in groups if group["cycle"]], "groups with a cycle")
    equal(cycle["cycle_path"], path, "the way")
    equal([(s["what"], s["confidence"]) for s in cycle["suspects"]], [("strong reference", "candidate")], "suspects")
    contains(cycle["suspects"][0]["function"], function, "where the cycle was closed")
    status, text = d.ending_command("refhist check --fail-on leak")
    equal(status, 23, text)
    contains(text, "1 finding, 1 failing the check", "check")
    return cycle


def test_through_containers(d):
    groups = lost(d, "containers", "shared_ptr")
    text = d.refhist("leaks")
    contains(text, "1 shared_ptr<farm::Shepherd> leaked: in a cycle", "the shepherd")
    contains(text, "3 shared_ptr<farm::Sheep> held only by leaked objects", "the sheep")
    contains(text, "-> Sheep.shepherd -> Shepherd\n", "the cycle")
    check("~" not in text, f"a destructor is suspected that never ran:\n{text}")
    cycle = the_cycle(d, groups, ["Shepherd.flock", "Sheep.shepherd"], "hire")
    equal((cycle["born_by"], len(cycle["objects"])), ("std::make_shared", 1), "birth, objects")


def test_weak_references_tracked_too(d):
    """The control block is two objects then, and the map's nodes still only point back into what it manages."""
    groups = [group for group in lost(d, "containers", "shared_ptr weak_ptr") if group["family"] == "shared_ptr"]
    the_cycle(d, groups, ["Shepherd.flock", "Sheep.shepherd"], "hire")


def test_through_a_closure(d):
    the_cycle(d, lost(d, "closure", "shared_ptr"), ["Dog.bark"], "train")


def test_names_of_members_when_the_program_has_ended(d):
    d.refhist("track shared_ptr")
    d.run("containers")
    d.expect_exit()
    contains(d.refhist("leaks"), "cycle: Shepherd.flock -> Sheep.shepherd -> Shepherd", "leaks")
    path = os.path.join(d.case.scratch, "ended.rh")
    d.refhist(f"save {path}")
    d.refhist(f"open {path}")
    contains(d.refhist("leaks"), "cycle: Shepherd.flock -> Sheep.shepherd -> Shepherd", "leaks of the file")


def test_a_private_part_holds_nothing(d):
    group = only(lost(d, "private", ""), "groups")
    equal((group["reach"], group["cycle"], len(group["objects"])), ("unreachable", [], 1), "how it is lost")
