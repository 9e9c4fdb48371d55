"""The GObject demo: one thread puts twice, the other then uses a dead object."""

from harness.checks import check, equal, matches
from harness.shapes import called_from, check_findings, verdicts


def test_stop_before_the_dead_object_is_used(d):
    d.track("GObject")
    d.refhist("break-on-imbalance")
    screen = d.run()
    state = d.expect_stop(function="g_object_unref")
    check("fetch" in state["frames"], f"frames {state['frames']}")
    matches(screen, "(?i)zero|dead|freed|last", "the line that says why")
    dead = d.object("$rdi")
    puts = [e for e in dead["events"] if e["role"] == "put"]
    called_from(puts[0], "download_hung_up")
    called_from(puts[1], "read_download")
    equal(puts[0]["thread"], puts[1]["thread"], "thread of the puts of the reader")
    check(puts[0]["thread"] != dead["born"]["thread"], "the reader is the thread of the birth")


def test_check(d):
    d.track("GObject")
    d.run()
    status, findings = check_findings(d, "--fail-on imbalance")
    equal(status, 23, "exit status")
    # Without the allocators, only the counter tells whether its memory has been given back.
    check(verdicts(findings) in (["over-put"], ["use-after-free"]), f"verdicts {verdicts(findings)}")
