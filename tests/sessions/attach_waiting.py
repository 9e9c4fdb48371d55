"""Attached while the main thread waits in a system call, and other threads run or wait: 1 and 50 of them."""

import resource
import time

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


def mapped_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def test_memory_is_given_back(d):
    """A program that is attached to again and again does not grow by what the agent maps.

    With one worker: GDB 13 by itself now and then waits for ever when it attaches to fifty again.
    """
    if d.backend == "breakpoint":
        return
    process = d.spawn("1", d.ready_path())
    d.wait_ready()
    before = mapped_bytes(process.pid)
    d.track_conn()
    for _ in range(3):
        d.attach(process.pid)
        d.break_at("checkpoint")
        d.cont()
        d.delete_breakpoints()
        check(mapped_bytes(process.pid) > before + (1 << 30), "the agent is in the program")
        d.detach()
        # LLDB says that it has let go before it has: the watchdog ends this.
        while mapped_bytes(process.pid) > before + (8 << 20):
            time.sleep(0.01)
    d.attach(process.pid)
    d.command("set var leave = 1" if d.name == "gdb" else "expression -- leave = 1")
    d.detach()
    equal(d.wait_for(process), 5, "exit status")
