"""Inlined copies whose counter a helper changes, and a copy that debug information does not tell of."""

from harness.checks import check, equal
from harness.shapes import check_findings, objects, role_totals

FAMILIES = {
    "link": "--name link --init link_new --get link_ref --put link_unref --type 'struct link' --count refs.value",
    "rule": "--name rule --init rule_new --get rule_ref --put rule_unref --type 'struct rule' --count refs.value",
    "page": "--name page --init page_new --get page_ref --put page_unref --type 'struct page' --count refs",
}
ROUNDS = 12


def test_every_change_is_an_event(d):
    for options in FAMILIES.values():
        d.track(options)
    d.run()
    d.expect_exit(0)
    equal(d.printed("callbacks_differ"), 1, "the two functions have addresses of their own")
    for name in FAMILIES:
        every = [thing for thing in objects(d, "--all") if thing["family"] == name]
        totals = role_totals(every)
        equal([totals[role] for role in ("init", "get", "put")], [ROUNDS, ROUNDS, 2 * ROUNDS], f"events of {name}")
        equal({thing["complete"] for thing in every}, {True}, f"complete histories of {name}")
        check(all(thing["state"] == "dead" for thing in every), f"all of {name} are dead")
    equal(check_findings(d), (0, []), "exit status and findings")
