"""break-on-leak --raw-exit: an end of the program that passes no function. GDB stops before the system call; LLDB says
that it cannot, and leaks are what the events tell."""

from harness.checks import check, contains, equal, lacks
from harness.shapes import leaks, only

CANNOT = "lldb cannot stop at a system call"
STOPPED = "leak: the program is about to end by a raw system call: 1 object leaked"


def ask(d, options=""):
    d.track_conn()
    answer = d.refhist(f"break-on-leak --raw-exit {options}".strip())
    contains(answer, "--raw-exit", "answer")
    if d.name == "lldb":
        contains(answer, CANNOT, "answer")
        contains(d.refhist("status"), CANNOT, "status")
    else:
        equal(len(answer.splitlines()), 1, "lines of the answer")
    return answer


def catchpoints(d):
    """How many catchpoints the user sees (GDB)."""
    return d.command("info breakpoints").count("catchpoint  ")


def expect_stop_once(d, screen, status):
    """The stop with the leak told, then the end. In LLDB the end at once, and the leak by the events."""
    if d.name == "lldb":
        d.expect_exit(status)
        contains(d.refhist("leaks"), "before reachability was checked", "leaks after the end")
        equal(len(only(leaks(d), "groups")["objects"]), 1, "outstanding objects")
        return
    contains(screen, STOPPED, "screen")
    d.expect_stop()
    group = only(leaks(d), "groups")
    equal((group["verdict"], group["reach"], len(group["objects"])), ("leak", "unreachable", 1), "leak")
    lacks(d.cont(), "leak:", "screen after the stop")
    d.expect_exit(status)


def test_exit_group(d):
    ask(d)
    expect_stop_once(d, d.run("group"), 3)


def test_again_in_the_next_run(d):
    ask(d)
    for _ in range(2):
        expect_stop_once(d, d.run("group"), 3)


def test_asked_while_the_program_is_stopped(d):
    d.break_at("main")
    d.run("group")
    ask(d)
    expect_stop_once(d, d.cont(), 3)


def test_nothing_is_leaked(d):
    ask(d)
    screen = d.run("group", "clean")
    lacks(screen, "leak:", "screen")
    d.expect_exit(3)


def test_exit_is_told_once(d):
    ask(d)
    screen = d.run("_exit")
    contains(screen, "leak: the program is about to end: 1 object leaked", "screen")
    d.expect_stop()
    lacks(d.cont(), "leak:", "screen after the stop")
    d.expect_exit(6)


def test_only_the_last_thread_counts(d):
    ask(d)
    d.break_at("checkpoint")
    screen = d.run("threads")
    d.expect_stop(function="checkpoint")
    lacks(screen, "leak:", "screen when another thread is left")
    expect_stop_once(d, d.cont(), 4)


def test_the_main_thread_may_leave_first(d):
    ask(d)
    d.break_at("checkpoint")
    screen = d.run("leader")
    d.expect_stop(function="checkpoint")
    lacks(screen, "leak:", "screen when another thread is left")
    if d.name == "gdb":
        contains(d.cont(), STOPPED, "screen")


def test_without_the_option(d):
    d.track_conn()
    d.refhist("break-on-leak")
    lacks(d.run("group"), "leak:", "screen")
    d.expect_exit(3)


def test_the_catchpoint_goes_with_its_rules(d):
    if d.name != "gdb":
        return
    ask(d)
    ask_again = d.refhist("break-on-leak --raw-exit --family conn")
    contains(ask_again, "rule 2", "answer")
    equal(catchpoints(d), 1, "catchpoints of two rules")
    d.refhist("break-on-leak delete 1")
    equal(catchpoints(d), 1, "catchpoints of one rule")
    d.refhist("break-on-leak disable 2")
    equal(catchpoints(d), 0, "catchpoints of a disabled rule")
    d.run("group")
    d.expect_exit(3)
    d.refhist("break-on-leak enable 2")
    contains(d.run("group"), STOPPED, "screen")


def test_deleted_by_the_user(d):
    if d.name != "gdb":
        return
    ask(d)
    said = d.command("delete breakpoints")
    contains(said, "refhist: catchpoint", "what is said at once")
    contains(d.refhist("status"), "deleted or disabled by somebody else", "status")
    d.run("group")
    d.expect_exit(3)
    d.refhist("break-on-leak enable 1")
    lacks(d.refhist("status"), "by somebody else", "status")
    expect_stop_once(d, d.run("group"), 3)


def test_disabled_by_the_user(d):
    if d.name != "gdb":
        return
    ask(d)
    d.command("disable")
    contains(d.refhist("status"), "deleted or disabled by somebody else", "status")


def test_under_a_debug_server(d):
    ask(d)
    d.connect_to_server()
    screen = d.cont()
    if d.name == "gdb":
        contains(screen, STOPPED, "screen")


def test_words_that_do_not_fit(d):
    contains(d.refhist_error("break-on-leak --raw-exit --after use"), "--after", "error")
    contains(d.refhist_error("break-on-imbalance --raw-exit"), "no option --raw-exit", "error")
    equal(d.refhist_json("break-on-leak list")["rules"], [], "rules")
    check(d.name != "gdb" or catchpoints(d) == 0, "a refused rule left a catchpoint")


def test_nothing_is_accused_without_a_look(d):
    """Nobody has seen whether the program still reached what was outstanding."""
    d.track_conn()
    d.run("group")
    d.expect_exit(3)
    status, text = d.ending_command("refhist check --fail-on leak,undecidable")
    equal(status, 23, text)
    contains(text, "undecidable: conn", "check")
    contains(text, "did not call _exit", "check")
    lacks(text, "leak:", "check")
