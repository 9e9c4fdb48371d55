"""Functions that are armed while threads stand in their first bytes, also as the place where a signal handler goes
back to: the program goes on unharmed, and calls from then on are seen."""

from harness.checks import check, equal, only_where
from harness.shapes import hits


# LLDB steps a thread over a breakpoint while all others stand still. Here the instruction under the breakpoint waits for
# another thread: about every second session would never end, with or without refhist.
@only_where(lambda name: name == "gdb", "LLDB steps one thread while the others stand still, with or without refhist")
def test_armed_around_standing_threads(d):
    process = d.spawn(d.ready_path())
    d.wait_ready()
    d.attach(process.pid)
    d.track("--name parked --get parked_get --get parked_in_signal_get --put parked_put --count refs")
    d.break_at("checkpoint")
    d.pass_signal("SIGUSR1")
    d.pass_signal("SIGUSR2")
    d.command("set var leave = 1" if d.name == "gdb" else "expression -- leave = 1")
    d.cont()
    d.expect_stop(function="checkpoint")
    seen = hits(d.refhist_json("status"))
    # The kernel begins an interrupted pause anew, at the instruction where the probe is.
    check(3 <= seen["parked_get"] <= 5, f"parked_get: {seen}")
    check(3 <= seen["parked_in_signal_get"] <= 4, f"parked_in_signal_get: {seen}")
    equal(seen["parked_put"], 12, "puts")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(11)
