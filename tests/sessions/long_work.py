"""Long work of refhist tells how far it is, and Ctrl-C, as the terminal sends it, ends it: the session goes on, the program notices nothing.

When to press it is seen by a progress line, never by a clock. Work that was done before the key arrived is tried again, longer."""

import os
import shutil

from harness.checks import check, contains, equal, lacks
from harness.shapes import leaks, only


def press_during(d, line, progress):
    """Types the command, presses Ctrl-C when it tells its progress, and returns what it printed after that."""
    d.refhist("set progress every-step")
    d.type_only(line)
    d.terminal.read_until(progress)
    d.terminal.press_control_c()
    return d.wait_for_prompt()


def interrupted(d, line, progress):
    text = press_during(d, line, progress)
    d.refhist("set progress seldom")
    return text


def stop_with(d, mib):
    d.run(str(mib))
    d.expect_stop(function="checkpoint")


def test_leaks(d):
    d.track_conn()
    number = d.break_at("checkpoint")
    for mib in (64, 128, 256, 512, 1024):
        stop_with(d, mib)
        text = interrupted(d, "refhist leaks", "scanning for what is reachable")
        if "interrupted" in text:
            break
    contains(text, "interrupted", "what the command says")
    lacks(text, "nothing points at", "what an interrupted scan claims")
    # The same stop, the same command: now to its end.
    equal(only(leaks(d), "leak groups")["reach"], "unreachable", "reach")
    d.expect_stop(function="checkpoint", breakpoint=number)
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    equal(only(leaks(d), "leak groups")["reach"], "unreachable", "reach, by the look at _exit")


def test_ctrl_c_does_not_last(d):
    """The look at _exit after an interrupted command is not interrupted."""
    d.track_conn()
    d.break_at("checkpoint")
    stop_with(d, 64)
    press_during(d, "refhist leaks", "scanning for what is reachable")
    d.cont()
    d.expect_exit(0)
    d.refhist("set progress seldom")
    equal(only(leaks(d), "leak groups")["reach"], "unreachable", "reach, by the look at _exit")


def test_discover(d):
    d.break_at("checkpoint")
    stop_with(d, 1)
    text = interrupted(d, "refhist discover", "searching ")
    contains(text, "not every module was searched", "what the command says")
    contains(d.refhist("discover 'conn*'"), "conn_get", "the proposal afterwards")
    d.cont()
    d.expect_exit(0)


def test_reading_debug_information(d):
    """On copies of a large program: what was read once is kept, so each try needs a file that was never read."""
    track = "refhist track --get conn_get --put conn_put --count refz --type refhist::Object"
    for attempt in range(5):
        copy = os.path.join(d.case.scratch, f"large{attempt}")
        shutil.copy(os.path.join(d.case.build, "tests", "unit", "refhist_unit_tests"), copy)
        d.load_program(copy)
        text = interrupted(d, track, "reading the debug information of large")
        if "stopped by Ctrl-C" in text:
            break
    contains(text, "stopped by Ctrl-C while reading the debug information of large", "what the command says")
    check("refz" not in text, f"what an unread type is accused of: {text}")
    # Nothing half-read is left: the same words now reach the type's members.
    error = d.refhist_error(track.removeprefix("refhist "))
    contains(error, "refz", "error")
    contains(error, "refhist::Object", "error")


def test_every_part_is_told(d):
    """A line comes every two seconds only where each part of the work asks for one: also while the program starts."""
    copy = os.path.join(d.case.scratch, "told")
    shutil.copy(os.path.join(d.case.build, "tests", "unit", "refhist_unit_tests"), copy)
    d.load_program(copy)
    d.refhist("set progress every-step")
    text = d.command("refhist track shared_ptr")
    reading = "reading the debug information of told"
    for part in (f"{reading}: unit 1 of", f"{reading}: sorting what was found", "caching what was read for the next session",
                 "looking for inlined copies"):
        contains(text, part, "what the command tells")
    d.load_program(d.program)
    d.refhist("set progress every-step")  # in LLDB, each target has a session
    d.track_conn()
    d.break_at("checkpoint")
    text = d.run("1")
    contains(text, "arming conn in", "what is told while the program starts")
    d.expect_stop(function="checkpoint")


def test_beside_json_nothing_is_told(d):
    d.track_conn()
    d.break_at("checkpoint")
    stop_with(d, 64)
    d.refhist("set progress every-step")
    d.refhist_json("leaks")  # GDB's scripts get all that is printed
    d.refhist("set progress seldom")
