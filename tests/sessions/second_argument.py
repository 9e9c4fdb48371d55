"""The object is argument 2 of what gives it back: its place is read from there, whatever the struct around it is called."""

from harness.checks import agent_only, equal
from harness.shapes import check_findings, first_suspect_at, verdicts

PART = "--name part --init part_new --get part_get --put part_put --type 'struct part' --count refs"


def run(d, *way):
    d.refhist("set allocators auto")
    d.refhist("set quarantine 64M")
    d.track(PART)
    d.run(*way)


def first_suspect(d, way):
    run(d, way)
    found, first = first_suspect_at(d, way)
    return set(verdicts(found)), first["what"]


@agent_only("the allocator is followed in the agent alone")
def test_right(d):
    run(d)
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


@agent_only("the allocator is followed in the agent alone")
def test_the_way_out_of_a_loop_whose_first_call_stands_before_it(d):
    equal(first_suspect(d, "rotated"), ({"leak"}, "missing put"), "verdicts and kind")


@agent_only("the allocator is followed in the agent alone")
def test_kept_in_a_struct_inside_a_static_variable(d):
    """Unoptimised code computes where that is: the put is suspected then, but nothing is named."""
    if d.case.variant == "O0":
        run(d, "untaken")
        status, found = check_findings(d)
        equal((status, found[0]["suspects"][0]["confidence"]), (23, "candidate"), "exit status and confidence")
        return
    equal(first_suspect(d, "untaken"), ({"use-after-free"}, "missing get"), "verdicts and kind")
