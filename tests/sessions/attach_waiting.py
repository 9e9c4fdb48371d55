"""Attached while the main thread waits in a system call, and other threads run or wait: 1 and 50 of them."""

from harness.checks import check, equal
from harness.shapes import objects, role_totals


def attach(d, threads):
    process = d.spawn(str(threads), d.ready_path())
    d.wait_ready()
    d.attach(process.pid)
    return process


def see_some(d, threads):
    process = attach(d, threads)
    d.track_conn()
    d.refhist("break-on-imbalance")
    number = d.break_at("checkpoint")
    for _ in range(3):
        d.cont()
        # Of many threads LLDB may show one that stands at a breakpoint of ours.
        equal(d.state()["state"], "stopped", "state")
        if threads == 1:
            d.expect_stop(function="checkpoint", breakpoint=number)
    totals = role_totals(objects(d, "--all"))
    check(totals["get"] >= 3 and totals["put"] >= 6, f"events: {totals}")
    return process


def test_one_worker(d):
    see_some(d, 1)


def test_fifty_workers(d):
    see_some(d, 50)


def test_it_lives_on_after_detach(d):
    process = see_some(d, 50)
    d.delete_breakpoints()
    d.command("set var leave = 1" if d.name == "gdb" else "expression -- leave = 1")
    d.detach()
    equal(d.wait_for(process), 5, "exit status")
