"""The debugger is killed with kill -9: its program goes on to its own end, and nothing stays in the temporary folder."""

import copy
import glob
import os
import random
import signal
import tempfile
import time

from harness.checks import IN_AGENT, SessionFailure, agent_only, check, equal, only_where
from harness.shapes import objects, role_totals

MOMENTS = int(os.environ.get("REFHIST_TEST_MOMENTS", "10"))


def start(d, *words):
    process = d.spawn("2", d.ready_path(), d.go_path(), *words)
    d.wait_ready()
    return process


def attach(d, *commands, words=()):
    process = start(d, *words)
    d.attach(process.pid)
    d.track_conn()
    for command in commands:
        d.refhist(command)
    return process


def let_agent_in(d):
    """LLDB brings it in at a breakpoint, and until then every call comes to one."""
    d.break_at("checkpoint")
    d.cont()
    d.cont()
    d.delete_breakpoints()


def left_files(d):
    return glob.glob(os.path.join(tempfile.gettempdir(), f"refhist-code-*-{d.terminal.pid}-*"))


def status_of(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def tracer_of(process):
    return int(status_of(process)["TracerPid"])


def wait_until(d, true, what):
    while not true():
        check(d.terminal.seconds_left() > 0, f"the watchdog waited for: {what}")
        time.sleep(0.001)


def kill_debugger(d):
    os.kill(d.terminal.pid, signal.SIGKILL)
    d.terminal.read_to_end()
    d.terminal.wait()


def kill_server(d):
    """lldb-server, which is what traces the program; LLDB itself lives on."""
    servers = []
    for path in glob.glob(f"/proc/{d.terminal.pid}/task/*/children"):  # whichever thread has started it
        with open(path, encoding="ascii") as children:
            servers += [int(pid) for pid in children.read().split()]
    for pid in servers:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
            if name.read().startswith("lldb-server"):
                os.kill(pid, signal.SIGKILL)
                d.quit()
                return
    check(False, f"LLDB has a server: {servers}")


def guards_of(process):
    """The processes that guard this one."""
    found = []
    for comm in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(comm, encoding="utf-8", errors="replace") as name, open(comm.replace("comm", "cmdline"), encoding="utf-8") as line:
                if name.read() == "refhist-guard\n" and line.read().split("\0")[1:2] == [str(process.pid)]:
                    found.append(comm)
        except OSError:
            continue
    return found


def expect_own_end(d, process):
    wait_until(d, lambda: process.poll() is not None or tracer_of(process) == 0, "nobody traces the program")
    wait_until(d, lambda: not guards_of(process), "the guard has done its work")
    equal(left_files(d), [], "files that are left")
    if process.poll() is None:
        check(status_of(process)["State"][0] in "RSD", f"its state: {status_of(process)['State']}")
    d.let_go()
    equal(d.wait_for(process), 7, "exit status")
    equal(d.printed("child"), 3, "its child's exit status")


def expect_end_of_children(d, process):
    """Where the program itself stood at a breakpoint (in fork), the guide says that it dies. False then."""
    wait_until(d, lambda: not guards_of(process), "the guard has done its work")
    d.let_go()
    status = d.wait_for(process)
    if status == -signal.SIGTRAP:
        return False
    equal(status, 7, "exit status")
    equal(d.printed("failed"), 0, f"children that came to another end (the last: {d.printed('last')})")
    return True


@agent_only("a program that comes to a breakpoint at every moment has hit one when the debugger dies, mostly")
def test_while_the_program_runs(d):
    process = attach(d)
    let_agent_in(d)
    d.cont_in_background()
    kill_debugger(d)
    expect_own_end(d, process)


def test_at_the_prompt(d):
    process = attach(d, "break-on-imbalance", "break-on-leak")
    kill_debugger(d)
    expect_own_end(d, process)


@agent_only("a program that comes to a breakpoint at every moment has hit one when the debugger dies, mostly")
def test_at_a_breakpoint_of_the_user(d):
    process = attach(d)
    d.break_at("conn_free")
    d.cont()
    kill_debugger(d)
    expect_own_end(d, process)


def test_after_detaching(d):
    """Nothing is guarded any more, and the next debugger's breakpoints are nobody's business."""
    process = attach(d)
    for _ in range(50):  # it has its name once it runs
        if guards_of(process):
            break
        time.sleep(0.1)
    check(guards_of(process), "it is guarded")
    d.detach()
    kill_debugger(d)
    expect_own_end(d, process)


def another(d, name):
    """One more debugger, in a folder of its own."""
    case = copy.copy(d.case)
    case.scratch = os.path.join(d.case.scratch, name)
    os.mkdir(case.scratch)
    return type(d)(case)


def kill_at_some_moment(d, chance, kill, expect, words=()):
    process = attach(d, words=words)
    let_agent_in(d)
    d.cont_in_background()
    time.sleep(chance.random() * 0.1)
    kill(d)
    return expect(d, process)


def at_moments(d, moments, kill, expect, words=()):
    """What `expect` has returned, each time."""
    chance = random.Random(os.environ.get("REFHIST_TEST_SEED"))
    failed, ends = [], []
    for i in range(moments):
        one = another(d, f"moment{i}")
        try:
            ends.append(kill_at_some_moment(one, chance, kill, expect, words))
        except SessionFailure as error:
            failed.append(str(error))
        finally:
            one.destroy()
    equal(failed, [], f"moments of {moments} at which the program did not go on")
    return ends


@agent_only("a program that comes to a breakpoint at every moment has hit one when the debugger dies, mostly")
def test_moments(d):
    at_moments(d, MOMENTS, kill_debugger, expect_own_end)


@only_where(lambda name: IN_AGENT and name == "lldb", "GDB traces the program itself; at breakpoints every moment is one at a hit")
def test_moments_of_the_server(d):
    at_moments(d, MOMENTS, kill_server, expect_own_end)


@only_where(lambda name: IN_AGENT and name == "lldb", "GDB's threads end one after another, and the guard hears of the last: a child may have run by then")
def test_moments_of_a_program_that_forks(d):
    """A child that is born just then has the debugger's breakpoints in its copy of the code."""
    ends = at_moments(d, MOMENTS // 2, kill_debugger, expect_end_of_children, ["forks"])
    check(any(ends), "the program went on at some moment")


def test_tracked_again(d):
    """By the next debugger: the functions are recorded again, by an agent of its own."""
    process = attach(d)
    kill_debugger(d)
    wait_until(d, lambda: not guards_of(process), "the guard has done its work")
    second = another(d, "second")
    try:
        second.attach(process.pid)
        second.track_conn()
        second.break_at("checkpoint")
        for _ in range(4):
            second.cont()
        totals = role_totals(objects(second, "--all"))
        check(totals["get"] >= 1 and totals["put"] >= 1, f"events: {totals}")
        second.delete_breakpoints()
        second.detach()
        d.let_go()
        equal(d.wait_for(process), 7, "exit status")
        second.close()
    finally:
        second.destroy()
