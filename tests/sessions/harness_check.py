"""The harness against the plain debuggers."""

import signal

from harness.checks import contains, equal

LOAD_REFHIST = False


def test_break_and_exit(d):
    number = d.break_at("visit")
    d.run()
    d.expect_stop(function="visit", caller="main", breakpoint=number)
    equal(d.value("rounds"), 3, "value of rounds")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(7)
    equal(d.printed("rounds"), 3, "what the program printed")


def test_finish_and_kill(d):
    d.break_at("visit")
    d.run()
    d.finish()
    d.expect_stop(function="main")
    equal(len(d.threads()), 1, "threads")
    d.kill()
    d.expect_no_process()


def test_control_c(d):
    d.type_run(d.ready_path())
    d.wait_ready()
    d.interrupt()
    d.expect_stop(signal="SIGINT" if d.name == "gdb" else "SIGSTOP")


def test_attach_and_detach(d):
    process = d.spawn(d.ready_path())
    d.wait_ready()
    d.attach(process.pid)
    equal(d.expect_stop()["pid"], process.pid, "process")
    d.detach()
    d.expect_no_process()
    process.send_signal(signal.SIGTERM)
    equal(d.wait_for(process), -signal.SIGTERM, "end of the detached program")


def test_errors_are_told_apart(d):
    answer = d.execute("no-such-command")
    equal(answer["ok"], False, "success of an unknown command")
    contains(answer["text"], "no-such-command")


def test_exit_status_of_the_debugger(d):
    status, _ = d.ending_command("quit 23")
    equal(status, 23, "exit status")
