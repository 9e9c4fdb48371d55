"""Some functions of a family are in the agent and others have breakpoints, and threads run: nobody is accused."""

from harness.checks import agent_only, equal
from harness.shapes import check_findings, hits

ROUNDS = 10


@agent_only("else all of them have breakpoints")
def test_no_change_is_anybody_elses(d):
    d.case.left_to_breakpoints = 1
    d.track("--init node_new --try-get node_try_get --get node_get --put node_put --count refs")
    d.refhist("break-on-imbalance")
    d.run(str(ROUNDS))
    d.expect_exit(0)
    status = d.refhist_json("status")
    equal({site["probe"]: site["backend"] or "breakpoint" for site in status["sites"]},
          {"node_new": "agent", "node_try_get": "agent", "node_get": "agent", "node_put": "breakpoint"}, "backends")
    equal(hits(status)["node_put"], 3 * 40 * ROUNDS + 1, "puts")
    equal(check_findings(d, "--fail-on imbalance")[1], [], "findings")
