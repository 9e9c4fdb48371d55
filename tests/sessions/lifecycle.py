"""Run, run again, kill, detach, attach, crash: breakpoints and rules stay, histories are right."""

import resource
import signal

from harness.checks import check, contains, equal
from harness.shapes import objects, roles


def stop_at_checkpoint(d, *arguments):
    d.track_conn()
    d.break_at("checkpoint")
    d.run(*arguments)
    d.expect_stop(function="checkpoint")


def expect_fresh_history(d):
    subject = d.object("subject")
    equal((roles(subject), subject["generation"]), (["init", "get"], 1), "history of the new run")
    equal(len(objects(d, "--all")), 1, "objects of the new run")


def test_core_files_are_not_larger(d):
    """The kernel and GDB leave out what is marked so: all of the agent's memory but its few own pages."""
    if d.backend == "breakpoint":
        return
    stop_at_checkpoint(d)
    size, dumped = 0, 0
    with open(f"/proc/{d.state()['pid']}/smaps", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "Size:":
                size = int(words[1])
            elif words[0] == "VmFlags:" and "dd" not in words and "io" not in words:
                dumped += size
    check(dumped < 64 << 10, f"{dumped} KiB are dumped")


def test_limited_address_space(d):
    """The agent comes along in a small area: the program may map no more."""
    if d.backend == "breakpoint":
        return
    d.break_at("main")
    d.run()
    pid = d.state()["pid"]
    resource.prlimit(pid, resource.RLIMIT_AS, (700 << 20, 700 << 20))
    d.track_conn()
    d.break_at("checkpoint")
    d.cont()
    d.expect_stop(function="checkpoint")
    equal(roles(d.object("subject")), ["init", "get"], "history under a limit")
    mapped = mapped_bytes(pid)
    check(100 << 20 < mapped < 700 << 20, f"the agent's area is there and small: {mapped} bytes are mapped")


def test_little_address_space(d):
    """Where the agent would take most of what the program may map, it stays out, takes nothing, and that is said."""
    if d.backend == "breakpoint":
        return
    d.case.left_to_breakpoints = 99
    d.break_at("main")
    d.run()
    pid = d.state()["pid"]
    before = mapped_bytes(pid)
    resource.prlimit(pid, resource.RLIMIT_AS, (300 << 20, 300 << 20))
    said = d.track_conn() + d.refhist("status")
    contains(said, "of its address space, limited to 300 MiB (ulimit -v), 297 MiB are left", "why not in the agent")
    d.break_at("checkpoint")
    d.cont()
    d.expect_stop(function="checkpoint")
    equal({site["backend"] for site in d.refhist_json("status")["sites"]}, {"breakpoint"}, "backends")
    equal(roles(d.object("subject")), ["init", "get"], "history under a limit")
    check(mapped_bytes(pid) - before < 1 << 20, "refhist has mapped nothing")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(3)


def mapped_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def test_backtrace_at_each_instruction(d):
    if d.backend == "breakpoint":
        return  # LLDB runs on where a step comes to a breakpoint that goes on by itself, with or without us
    stop_at_checkpoint(d)
    d.finish()
    wanted = {"conn_get", "conn_put"}
    seen = set()
    for step in range(600):
        frames = d.state()["frames"]
        check("main" in frames, f"after {step} steps: {frames}")
        check(not any(frame.startswith("refhist") for frame in frames), f"steps show the program's own code: {frames}")
        seen.add(frames[0])
        d.stepi()
    check(wanted <= seen, f"functions stepped through: {seen}")


def last_get(d):
    return [event for event in d.object("subject")["events"] if event["role"] == "get"][-1]


def test_reset_between_calls_from_one_place(d):
    stop_at_checkpoint(d)
    d.break_at("conn_put")
    d.cont()
    before = last_get(d)["stack"]
    d.refhist("reset")
    for _ in range(3):
        d.cont()
    equal(last_get(d)["stack"], before, "stack of a get from the same place")


def test_run_again_while_alive(d):
    stop_at_checkpoint(d)
    expect_fresh_history(d)
    d.run()
    d.expect_stop(function="checkpoint")
    expect_fresh_history(d)


def test_run_again_when_dead(d):
    stop_at_checkpoint(d)
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(3)
    d.break_at("checkpoint")
    d.run()
    d.expect_stop(function="checkpoint")
    expect_fresh_history(d)


def test_rules_stay(d):
    d.track_conn()
    d.refhist("break-on-put-to-zero")
    for _ in range(2):
        d.run()
        d.expect_stop(function="conn_put", caller="main")
        d.cont()
        d.expect_exit(3)


def test_track_at_a_stop(d):
    d.break_at("checkpoint")
    d.run()
    d.track_conn()
    d.cont()
    subject = d.object("subject")
    equal(subject["complete"], False, "completeness of an object that was born before")
    equal(roles(subject).count("get"), 50, "gets")
    equal(subject["count"], 2, "count")


def test_kill(d):
    stop_at_checkpoint(d)
    subject = d.value("subject")
    d.kill()
    d.expect_no_process()
    equal(roles(d.object(f"{subject:#x}")), ["init", "get"], "the history after the kill")
    d.run()
    d.expect_stop(function="checkpoint")
    expect_fresh_history(d)


def test_crash(d):
    stop_at_checkpoint(d, "crash")
    d.delete_breakpoints()
    d.cont()
    d.expect_stop(function="crash", signal="SIGSEGV")
    equal(roles(d.object("subject")).count("put"), 50, "puts before the crash")
    subject = d.value("subject")
    d.cont()
    d.expect_killed_by(signal.SIGSEGV)
    equal(roles(d.object(f"{subject:#x}")).count("put"), 50, "puts, after the crash")


def start_program(d):
    process = d.spawn("wait", d.ready_path())
    d.wait_ready()
    return process


def test_attach(d):
    process = start_program(d)
    d.track_conn()
    d.attach(process.pid)
    d.break_at("checkpoint")
    d.pass_signal("SIGUSR1")
    process.send_signal(signal.SIGUSR1)
    d.cont()
    d.expect_stop(function="checkpoint")
    subject = d.object("subject")
    equal(subject["complete"], False, "completeness of an object that was born before")
    equal((roles(subject).count("get"), roles(subject).count("put")), (50, 50), "gets and puts")
    equal(subject["count"], 2, "count")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(3)
    contains(d.output(), "done 1", "output")


def test_track_after_attach(d):
    process = start_program(d)
    d.attach(process.pid)
    d.track_conn()
    d.break_at("checkpoint")
    d.pass_signal("SIGUSR1")
    process.send_signal(signal.SIGUSR1)
    d.cont()
    d.expect_stop(function="checkpoint")
    equal(roles(d.object("subject")).count("get"), 50, "gets")


def test_the_program_runs_on_after_detach(d):
    process = start_program(d)
    d.track_conn()
    d.attach(process.pid)
    d.detach()
    d.expect_no_process()
    process.send_signal(signal.SIGUSR1)
    equal(d.wait_for(process), 3, "end of the detached program")
    contains(d.output(), "done 1", "output")


def test_history_stays_after_detach(d):
    stop_at_checkpoint(d)
    d.delete_breakpoints()
    subject = d.value("subject")
    d.detach()
    equal(roles(d.object(f"{subject:#x}")), ["init", "get"], "history")
    check(d.refhist("status"), "no status after detach")
