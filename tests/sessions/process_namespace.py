"""A program in a container, its debugger outside: its threads call themselves by other numbers than the debugger."""

from harness.checks import check, equal
from harness.shapes import objects, role_totals

WORKERS = 1  # of many LLDB may show one that stands at a breakpoint of ours


def start(d):
    """The container, and the number that the program has outside of it."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "--propagation", "unchanged", "--mount-proc", d.program, str(WORKERS), d.ready_path()]
    container = d.spawn_command(command)
    d.wait_ready()
    with open(f"/proc/{container.pid}/task/{container.pid}/children", encoding="utf-8") as children:
        return container, int(children.read())


def test_every_event_of_every_thread(d):
    container, pid = start(d)
    d.attach(pid)
    if d.name == "lldb":  # by itself it takes the SIGSTOP of attaching for news in such a program
        d.command("process handle SIGSTOP --stop false --pass false")
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    for _ in range(8):
        d.cont()
        d.expect_stop(function="conn_put")
    things = objects(d, "--all")
    seen = role_totals(things)
    check(seen["put"] >= 8, f"events: {seen}")
    numbers = {event["thread"]["id"] for thing in things for event in thing["events"]}
    equal(numbers, {d.state()["thread"]}, "numbers of the worker")
    status = d.refhist_json("status")
    equal((status["notes"], status["totals"]["lost_events"]), ([], 0), "notes, lost events")
    d.command("set var leave = 1" if d.name == "gdb" else "expression -- leave = 1")
    d.detach()
    equal(d.wait_for(container), 5, "exit status")
