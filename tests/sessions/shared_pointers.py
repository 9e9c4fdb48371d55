"""std::shared_ptr and std::weak_ptr: every reference of both counts, whatever the compiler has inlined."""

from harness.checks import check, contains, equal
from harness.shapes import functions, objects, role_totals, roles


FAMILIES = {"boost": ("boost_shared_ptr", "boost_weak_ptr"), "libcxx": ("libcxx_shared_ptr", "libcxx_weak_ptr")}
POINTER = {"boost": "px", "libcxx": "__ptr_"}
FOLDED = {"boost": "sp_counted_base", "libcxx": "__shared_count", "": "_Sp_counted_base"}


def families(d):
    return FAMILIES.get(d.variant, ("shared_ptr", "weak_ptr"))


def track(d):
    if d.variant == "clang":
        d.case.left_to_breakpoints = 10  # short locked increments whose next instruction is a branch's target
    d.refhist("track " + " ".join(families(d)))


def to_checkpoint(d, how=""):
    d.break_at("checkpoint")
    d.run(how)


def at(d, expression):
    return d.refhist_json(expression)["objects"]


def of_family(things, family):
    return [thing for thing in things if thing["family"] == family]


def check_totals(d):
    """What the program has counted until its checkpoint is what the history has."""
    every = objects(d, "--all")
    if d.variant == "libcxx":  # whose locales are counted in the same way, from before main on
        every = [thing for thing in every if thing["complete"]]
    strong, weak = of_family(every, families(d)[0]), of_family(every, families(d)[1])
    births, deaths = d.printed("births"), d.printed("deaths")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")
    check(all(thing["complete"] for thing in every), "a birth was not seen")
    equal((len(strong), len(weak)), (births, births), "births")
    equal(len([thing for thing in strong if thing["state"] == "dead"]), deaths, "deaths")
    totals = role_totals(strong)
    failed = [event for thing in strong for event in thing["events"] if event.get("failed")]
    equal(totals["get"] + totals["try_get"] - len(failed), d.printed("gets"), "gets and locks")
    equal(totals["put"], d.printed("puts"), "puts")
    totals = role_totals(weak)
    equal(totals["get"], d.printed("weak_gets"), "weak gets")
    equal(totals["put"], d.printed("weak_puts") + deaths, "weak puts, and one for each end of the last strong reference")


def test_each_reference_is_one_event(d):
    track(d)
    to_checkpoint(d)
    check_totals(d)


def test_among_threads(d):
    track(d)
    to_checkpoint(d, "threads")
    if "not exact with several threads" in d.refhist("status"):
        check(d.name == "lldb" and d.backend == "breakpoint", "only LLDB's breakpoints cannot tell")
        return
    check_totals(d)


def test_the_users_object(d):
    """Found by the smart pointer, by its address, by the control block; shown with its dynamic type."""
    track(d)
    to_checkpoint(d)
    whole = d.value(f"(unsigned long)circle.{POINTER.get(d.variant, '_M_ptr')}") - 16
    (strong, weak) = at(d, "circle")
    equal((strong["family"], weak["family"]), families(d), "what the variable leads to")
    equal(strong["managed"], {"address": f"{whole:#x}", "type": "Circle"}, "what it manages")
    equal(at(d, f"{whole:#x}")[0]["address"], strong["address"], "by the object")
    equal(at(d, strong["address"])[0]["address"], strong["address"], "by the control block")
    equal(at(d, "subject")[0]["managed"]["type"], "Shape", "with a block of its own")
    equal(at(d, "plain")[0]["managed"]["type"], "Plain", "without virtual functions")
    contains(d.refhist("circle"), f"of Circle at {whole:#x}: live, count 1", "the first line")


def test_the_library_is_folded(d):
    track(d)
    to_checkpoint(d)
    text = d.refhist("circle")
    contains(text, "<- make_circle() (shared_pointers.cpp:", "the birth")
    contains(text, "<- copy_to(", "a get")
    folded = FOLDED.get(d.variant, FOLDED[""])
    check("<- std::" not in text and "<- boost::" not in text, f"a function of the library's is called the owner: {text}")
    contains(d.refhist("circle --stacks"), "inner frames folded (--stacks full)", "stacks")
    contains(d.refhist("circle --stacks full"), folded, "full stacks")
    last = at(d, "circle")[0]["events"][-1]
    check(any(folded in function for function in functions(last)), "JSON folds nothing")


def test_a_rule_stops_before_the_last_reference_goes(d):
    d.case.left_to_breakpoints = 1000  # what changes both counts at once
    track(d)
    d.refhist("break-on-put-to-zero --family " + families(d)[0])
    contains(d.run(), "put to zero: " + families(d)[0], "the line that says why")
    equal(d.value("deaths"), 0, "ends of objects when the program stands there")


def test_nothing_is_found_where_nothing_is_wrong(d):
    track(d)
    if d.backend != "auto":
        d.refhist("break-on-imbalance")
    d.run(*(["graph", "5000"] if d.backend == "auto" else ["graph"]))
    d.expect_exit(4)
    status, text = d.ending_command("refhist check")
    equal(status, 0, text)


def test_a_cycle(d):
    track(d)
    d.refhist("break-on-leak")
    contains(d.run("cycle"), "2 objects leaked: 2 " + families(d)[0], "the line that says why")
    lost = [g for g in d.refhist_json("leaks")["leaks"] if g["family"] == families(d)[0] and g["reach"] != "reachable"]
    equal(sum(len(g["objects"]) for g in lost), 2, "objects that are lost")
    equal({g["reach"] for g in lost}, {"from-leaked"}, "how they are held")
    (group,) = lost  # the control blocks live by their strong references: no leaks of their own
    equal({member["object"] for member in group["cycle"]}, {thing["address"] for thing in group["objects"]}, "its members")
    equal(group["suspects"][0]["what"], "strong reference", "suspect")
    text = d.refhist("leaks")
    contains(text, f"cycle: {' -> '.join(group['cycle_path'])} -> Node\n", "the cycle")
    contains(text, "(Node at 0x", "the objects")


def jump_before(d, site):
    """Where the jump is that stands in front of the site's own instruction; None when it stands there."""
    address = int(site["address"], 16)
    code = b"".join(d.value(f"*(unsigned long *){address + at:#x}").to_bytes(8, "little") for at in (-15, -7))
    back = 15 - code.rfind(0xE9) if 0xE9 in code else 0
    return address - back if back else None


def test_steps_where_the_jump_stands_in_front(d):
    """The jump to the agent may stand on instructions before a short one: whoever steps there sees the program's own."""
    if d.backend != "auto" or d.variant != "O2":
        return
    track(d)
    d.break_at("make_circle")  # LLDB 19 sets a breakpoint on main into an instruction where there is a main.cold
    d.run()
    sites = [site for site in d.refhist_json("status --sites")["sites"] if site["backend"] == "agent" and site["inlined"]]
    places = [place for place in (jump_before(d, site) for site in sites[:40]) if place is not None]
    check(len(places) >= 4, f"too few sites have their jump in front: {len(places)}")
    d.delete_breakpoints()
    for place in places:
        d.command(f"break *{place:#x}" if d.name == "gdb" else f"breakpoint set -a {place:#x}")
    d.break_at("checkpoint")
    d.cont()
    stops = 0
    while "weak_puts" not in d.output():
        stops += 1
        for _ in range(4):
            d.stepi()
        if stops == 200:
            d.delete_breakpoints()
            d.break_at("checkpoint")
        d.cont()
    check(stops >= 4, f"the program came to few of them: {stops}")
    check_totals(d)
