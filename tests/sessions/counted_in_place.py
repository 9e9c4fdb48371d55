"""Code that counts with macros or by hand has no function that takes or gives back: the instructions are the events."""

from harness.checks import agent_only, check, contains, equal, matches
from harness.shapes import check_findings, first_suspect, functions, objects, role_totals, roles, source_line, verdicts

FAMILIES = ("--name page --type page --init page_new --count refs",
            "--name index --type index --init index_new --count refs",
            "--name shape --type shape --init shape_new --count base.count")


def track(d):
    d.case.left_to_breakpoints = 100  # they stand close together
    d.track("malloc")
    for family in FAMILIES:
        d.track(family)


def counted(d, options=""):
    return [thing for thing in objects(d, options) if thing["family"] in ("page", "index", "shape")]


def to_checkpoint(d, *how):
    track(d)
    d.break_at("checkpoint")
    d.run(*how)


def of_line(suspect, mark):
    contains(source_line(suspect), mark, f"the line of {suspect['what']} in {suspect['function']}")


def test_each_change_is_one_event(d):
    to_checkpoint(d)
    every = counted(d, "--all")
    totals = role_totals(every)
    expected = [d.printed(name) for name in ("births", "taken", "given")]
    equal([totals["init"], totals["get"], totals["put"]], expected, "births, gets and puts")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")
    equal(d.object("subject")["count"], d.value("subject->refs"), "count of subject")


def test_the_owner_is_the_code_of_the_macro(d):
    to_checkpoint(d)
    shape = [thing for thing in counted(d, "--all") if thing["family"] == "shape"][0]
    text = d.refhist(f"{shape['address']} --all")
    matches(text, r"get +1 -> 2 +base_ref <- shape_show \(counted_in_place\.c:\d+\)", "the get")
    matches(text, r"put +2 -> 1 +base_unref <- shape_drop \(counted_in_place\.c:\d+\)", "the put")


def test_they_are_listed(d):
    to_checkpoint(d)
    text = d.refhist("status --sites")
    matches(text, r"put +0x[0-9a-f]+ \S+ refs-- in page_show \(counted_in_place\.c:\d+\), counted in place: (agent|breakpoint)",
            "a put")
    matches(text, r"get +0x[0-9a-f]+ \S+ refs\+\+ in index_add \(counted_in_place\.c:\d+\), counted in place", "a get")


def test_a_right_program_has_no_finding(d):
    track(d)
    d.run()
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_way_out_without_a_put(d):
    track(d)
    d.run("leak")
    d.expect_exit()
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
    equal(first_suspect(found[0])[:2], ("missing put", "page_show"), "first suspect")
    of_line(found[0]["suspects"][0], "LEAK")


def test_a_put_too_many(d):
    track(d)
    d.run("extra")
    status, found = check_findings(d)
    equal(status, 23, "exit status")
    # index_copy() takes none on one of its paths, which "get" runs.
    first = [(one["what"], one["function"]) for one in found[0]["suspects"][:3]]
    contains(first, ("extra put", "page_release"), "first suspects")


@agent_only("quarantine is the agent's")
def test_a_put_of_freed_memory_is_a_put(d):
    """It dies when it reads the counter."""
    d.refhist("set quarantine 64M")
    d.refhist("set allocators auto")
    track(d)
    d.run("dead")
    d.expect_stop(signal="SIGSEGV")
    _, found = check_findings(d)
    (finding,) = [finding for finding in found if finding["verdict"] == "use-after-free"]
    last = finding["object"]["events"][-1]
    equal((last["role"], last["site"]), ("put", "refs--"), "the last event")
    equal(functions(last)[0], "page_release", "where it stands")


def test_half_of_it_by_hand(d):
    """Where a role has its functions, nothing else of that role is looked for."""
    d.track("--name shape --type shape --init shape_new --put shape_drop --count base.count")
    d.break_at("checkpoint")
    d.run()
    every = counted(d, "--all")
    equal({" ".join(roles(thing)).replace("alloc ", "").replace(" free", "") for thing in every}, {"init get put put"}, "lives")
