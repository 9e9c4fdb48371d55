"""Programs that filter their system calls (seccomp): recorded by breakpoints where the agent cannot be brought in
without a forbidden call, and never ended by a system call of ours."""

from harness.checks import IN_AGENT, check, contains, equal
from harness.shapes import hits

PAIRS = 200000 if IN_AGENT else 20


def attach_to_confined(d, how):
    process = d.spawn(how, "10", d.ready_path())
    d.wait_ready()
    d.attach(process.pid)
    d.track_conn()
    if IN_AGENT:
        contains(d.refhist("status --sites"), "the program filters its system calls (seccomp)")
    equal({site["backend"] for site in d.refhist_json("status")["sites"]}, {"breakpoint"}, "backends")
    # An expression of LLDB would map memory in the program.
    set_go = 'script lldb.target.FindFirstGlobalVariable("go").SetValueFromCString("1")'
    d.command("set var go = 1" if d.name == "gdb" else set_go)
    d.cont()
    d.expect_exit(6)
    calls = hits(d.refhist_json("status"))
    equal((calls["conn_get"], calls["conn_put"]), (10, 11), "gets and puts")


def test_attach_when_strict(d):
    d.case.left_to_breakpoints = 99
    attach_to_confined(d, "strict")


def test_attach_when_filtered(d):
    d.case.left_to_breakpoints = 99
    attach_to_confined(d, "filter")


def confined_later(d, how):
    d.track_conn()
    d.refhist("break-on-imbalance")
    d.run(f"late-{how}", str(PAIRS), "-")
    d.expect_exit(6)
    status = d.refhist_json("status")
    calls = hits(status)
    equal((calls["conn_get"], calls["conn_put"]), (PAIRS, PAIRS + 1), "gets and puts")
    equal((status["totals"]["lost_events"], status["totals"]["live"]), (0, 0), "lost events, live objects")
    if IN_AGENT:
        check(all(site["backend"] == "agent" for site in status["sites"] if site["hits"]), "not in the agent")


def test_strict_later(d):
    confined_later(d, "strict")


def test_filtered_later(d):
    confined_later(d, "filter")
