"""A family that names the struct which contains what its functions take: that part is the object, wherever it lies."""

from harness.checks import contains, equal
from harness.shapes import check_findings, objects, role_totals, source_line, verdicts

CHANNEL = "--name channel --init kref_init --get kref_get --put kref_put --type 'struct channel' --count kref.refs.value"
MIXED = CHANNEL + " --put channel_put"
COUNT = 24


def run(d, *way, family=CHANNEL):
    d.track(family)
    d.run(*way)
    d.expect_exit(0)


def test_right(d, family=CHANNEL):
    run(d, family=family)
    totals = role_totals(objects(d, "--all"))
    equal([totals[role] for role in ("init", "get", "put")], [COUNT, COUNT, 2 * COUNT], "events")
    contains(d.refhist("status"), "its functions take a kref, which a channel contains: that is the object", "status")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_one_function_takes_the_whole(d):
    test_right(d, MIXED)


def test_the_whole_is_known_by_its_own_address(d):
    d.track(CHANNEL)
    d.break_at("free")
    d.run()
    equal(d.object("$rdi")["family"], "channel", "family of what is freed")


def test_leaked(d):
    run(d, "leaked")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")
    equal({source_line(one).split("// ")[-1] for one in found[0]["suspects"][:1]}, {"leaked"}, "line of the first suspect")
