"""The first suspect is the line that has to change, for mistakes of several kinds; none is said of the right program."""

from harness.checks import agent_only, equal
from harness.shapes import check_findings, first_suspect_at

COUNTER = "--name counter --init counter_set --get counter_get --put counter_put --type 'struct counter' --count refs"


def run(d, *way):
    d.refhist("set allocators auto")
    d.refhist("set quarantine 64M")
    d.track(COUNTER)
    d.run(*way)


def first_suspect(d, way):
    run(d, way)
    found, first = first_suspect_at(d, way)
    return found[0]["verdict"], first["what"]


@agent_only("the allocator is followed in the agent alone")
def test_right(d):
    run(d)
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


@agent_only("the allocator is followed in the agent alone")
def test_overwritten(d):
    equal(first_suspect(d, "overwritten"), ("leak", "overwritten"), "verdict and kind")


@agent_only("the allocator is followed in the agent alone")
def test_last_use(d):
    equal(first_suspect(d, "stolen"), ("leak", "missing put"), "verdict and kind")


@agent_only("the allocator is followed in the agent alone")
def test_late_get(d):
    equal(first_suspect(d, "late"), ("use-after-free", "late get"), "verdict and kind")


@agent_only("the allocator is followed in the agent alone")
def test_put_of_what_was_borrowed(d):
    equal(first_suspect(d, "report"), ("use-after-free", "extra put"), "verdict and kind")


@agent_only("the allocator is followed in the agent alone")
def test_wrapper_of_an_embedded_counter(d):
    equal(first_suspect(d, "embedded"), ("use-after-free", "extra put"), "verdict and kind")
