"""The look at _exit while other threads sleep and run: what they hold is not leaked, what main has lost is."""

from harness.checks import IN_AGENT, contains, equal, lacks
from harness.shapes import called_from, check_findings, leaks, only


def test_what_threads_hold_is_no_leak(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run()
    d.expect_exit(7)
    equal([g for g in leaks(d) if g["reach"] != "reachable"], [], "leaks")


def test_what_main_lost_is_one(d):
    d.track_conn()
    d.refhist("break-on-leak")
    contains(d.run("lose"), "1 object leaked", "the line that says why")
    d.expect_stop()
    lost = only([g for g in leaks(d) if g["reach"] == "unreachable"], "unreachable groups")
    equal((lost["verdict"], len(lost["objects"])), ("leak", 1), "verdict, objects")
    called_from(lost["references"][0], "lose")
    lacks(d.refhist("leaks"), "ran meanwhile", "a look at the stopped program")


def expect_none(d, mode):
    d.track_conn()
    d.run(mode)
    d.expect_exit(7)
    lacks(d.refhist("leaks"), "ran meanwhile", "a look at threads that stand still")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_what_a_register_holds_is_no_leak(d):
    expect_none(d, "spin")


def test_what_is_made_meanwhile_is_no_leak(d):
    """By breakpoints LLDB is not sure of a process that exits while another thread hits one."""
    if IN_AGENT or d.name == "gdb":
        expect_none(d, "make")


def test_the_users_sigstop_is_as_before(d):
    if d.name == "gdb":
        before = d.command("info signals SIGSTOP")
        d.track_conn()
        d.refhist("break-on-leak")
        d.run("lose")
        d.expect_stop()
        d.cont()
        d.expect_exit(7)
        equal(d.command("info signals SIGSTOP"), before, "what GDB does with SIGSTOP")


def test_let_go_at_the_stop_it_ends(d):
    """A signal that has halted a thread must not reach it once the debugger has detached."""
    process = d.spawn("lose", d.ready_path(), d.go_path())
    d.wait_ready()
    d.track_conn()
    d.attach(process.pid)
    d.refhist("break-on-leak")
    d.let_go()
    d.cont()
    d.expect_stop()
    d.detach()
    equal(d.wait_for(process), 7, "end of the detached program")
