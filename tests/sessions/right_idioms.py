"""Right programs whose counts look wrong: births and puts in one store, references given back by the dozen, static
objects, free lists."""

from harness.checks import check
from harness.shapes import check_findings, objects

FAMILIES = ("--init style_new --get style_ref --put style_unref --count refs",
            "--init page_new --get page_ref --put page_unref --count refs",
            "--init kref_init --get kref_get --put kref_put --count count",
            "--get thing_ref --put thing_unref --count refs")


def expect_nobody_accused(d):
    d.refhist("break-on-leak")
    d.run()
    d.expect_exit(0)
    families = {thing["family"] for thing in objects(d, "--all")}
    check({"kref", "thing"} <= families, f"families that were seen: {families}")
    told = {finding["verdict"] for finding in check_findings(d)[1]}
    check(told <= {"unobserved-change"}, f"verdicts: {told}")


def test_named(d):
    d.refhist("set allocators auto")
    for family in FAMILIES:
        d.track(family)
    expect_nobody_accused(d)


def test_found_by_itself(d):
    d.refhist("set allocators auto")
    d.track("auto")
    expect_nobody_accused(d)
