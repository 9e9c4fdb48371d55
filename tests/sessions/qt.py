"""QSharedPointer, QWeakPointer and QSharedData: every reference of each count, all inlined."""

from harness.checks import check, contains, equal
from harness.shapes import functions, objects, only, role_totals, roles


def to_checkpoint(d, how=""):
    d.refhist("track qt")
    d.break_at("checkpoint")
    d.run(how)


def of_family(things, family):
    return [thing for thing in things if thing["family"] == family]


def test_each_reference_is_one_event(d):
    to_checkpoint(d)
    every = objects(d, "--all")
    check(all(thing["complete"] for thing in every), "a birth was not seen")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")
    strong, weak = of_family(every, "QSharedPointer"), of_family(every, "QWeakPointer")
    equal((len(strong), len(weak)), 2 * (d.printed("strong_births"),), "births")
    totals = role_totals(strong)
    equal(totals["get"] + totals["try_get"] - totals["put"], d.printed("strong_gets") + d.printed("locks") - d.printed("strong_puts"),
          "strong references beside the first one of each")
    equal(totals["try_get"], d.printed("locks"), "locks")
    live = only([thing for thing in weak if thing["state"] == "live"], "live blocks")
    equal(live["count"], 2 + d.printed("weak_gets"), "each strong reference is a weak one as well")
    data = of_family(every, "QSharedData")
    equal(len(data), d.printed("data_births"), "births of data")
    totals = role_totals(data)
    equal((totals["get"], totals["put"]), (d.printed("data_gets"), d.printed("data_puts")), "gets and puts of data")


def test_objects_are_found(d):
    to_checkpoint(d)
    thing = only(d.refhist_json("style")["objects"], "objects of style")
    equal((thing["managed"]["type"], thing["count"]), ("Style", 1), "style")
    contains(d.refhist("style"), "<- wear(", "the owner")
    things = d.refhist_json("shown")["objects"]
    equal(sorted(thing["family"] for thing in things), ["QSharedPointer", "QWeakPointer"], "families of a pointer")


def test_the_whole_run_finds_nothing(d):
    d.refhist("track qt")
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(5)
    check(all(thing["state"] == "dead" for thing in objects(d, "--all")), "something is left")
    status, text = d.ending_command("refhist check")
    equal(status, 0, text)


def test_a_leak(d):
    d.refhist("track qt")
    d.refhist("break-on-leak --family QSharedPointer")
    contains(d.run("leak"), "leak", "the line that says why")
    d.expect_stop()
    group = only([g for g in d.refhist_json("leaks")["leaks"] if g["reach"] != "reachable"], "leaks")
    check(any("lose" in name for event in group["references"] for name in functions(event)), "no reference is from lose")
