"""A function that hands an object to what gives it back later, and takes no reference for it, is a suspect."""

from harness.checks import contains, equal
from harness.shapes import check_findings, verdicts

THEME = "--init theme_new --get theme_get --put theme_put --count refs"


def run(d, *arguments):
    d.refhist("set allocators auto")
    d.track("malloc")
    d.track(THEME)
    d.run(*arguments)


def test_right(d):
    run(d)
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def test_the_place_without_a_get(d):
    run(d, "wrong")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["use-after-free"]), "exit status and verdicts")
    why = {(suspect["what"], suspect["function"], suspect["line"]): suspect["why"] for suspect in found[0]["suspects"][:3]}
    contains(why.get(("missing get", "preview", 46), str(why)), "passes the object to table_add, which keeps it in table->entries[], and takes no reference for it", "why")
