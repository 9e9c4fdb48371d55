"""Every stepping command shows the same, line by line, in a program that is followed as in one that is not.

In LLDB the steps and the code alone (RIGHT), and the steps nearly: one that comes to a breakpoint of refhist's ends there. It names every breakpoint at a place where one of refhist's stands, too. With
breakpoints it runs on where a step comes to one that goes on by itself, with or without refhist.
"""

import difflib
import re
import sys

from harness.checks import check, equal

MOST = 400  # steps of one walk
BY_INSTRUCTION = {"test_stepi", "test_nexti"}
STEPS = BY_INSTRUCTION | {"test_step", "test_next", "test_next_behind_a_look_at_the_code", "test_step_and_finish"}
CODE = {"test_code_of_followed_functions", "test_code_at_a_stop"}
INSIDE = {"test_steps_out_of_a_followed_function", "test_finish_out_of_a_followed_function"}
RIGHT = {("lldb", "auto"): STEPS | CODE | INSIDE, ("lldb", "breakpoint"): CODE}


def walk(d, commands, most=MOST):
    """What the debugger prints from main on, until the program has ended."""
    d.break_at("main")
    screens = [d.run()]
    d.delete_breakpoints()
    for step in range(most):
        if d.state()["state"] != "stopped":
            break
        screens.append(d.command(commands[step % len(commands)]))
    return screens


def lines_of(screens):
    """Without what differs from run to run: process numbers, and the numbers of breakpoints."""
    text = "\n".join(screens)
    text = re.sub(r"(Process|process|LWP|pid =|tid =) ?(0x)?[0-9a-f]+", r"\1 N", text)
    text = re.sub(r"(?i)(breakpoint) [0-9.]+", r"\1 N", text)
    text = re.sub(r"\$\d+ = ", "$N = ", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def follow(d):
    d.track("--name session --init session_new --get session_ref --put session_unref --count nref")
    d.track("malloc")


def places(lines):
    """Where the program stopped: function and line of each stop."""
    return re.findall(r"frame #0: 0x[0-9a-f]+ (\S+?`.*? at [\w.]+:\d+)", "\n".join(lines))


def compare_places(before, after):
    """Nearly the same ones. A step that is forgotten shows: the program runs on."""
    before, after = places(before), places(after)
    check(not [place for place in after if "refhist" in place], f"stops in refhist's code: {after}")
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    differ = len(before) + len(after) - 2 * sum(block.size for block in matcher.get_matching_blocks())
    # A step into an inlined copy may leave out the copy's first stops, and `finish` comes two steps earlier then: with a libc that
    # has no lines, a third of the stops.
    check(differ <= max(2, 0.4 * len(before)), f"{differ} stops are others: {after} instead of {before}")


def compare(d, *works):
    test = sys._getframe(1).f_code.co_name
    nearly = (d.name, d.backend) == ("lldb", "auto") and test in STEPS | INSIDE
    if test not in RIGHT.get((d.name, d.backend), {test}):
        return
    every = []
    for work in works:
        every.append(lines_of(work(d)))
        if d.state()["state"] == "stopped":
            d.kill()
    follow(d)
    for work, before in zip(works, every):
        (compare_places if nearly else compare_lines)(before, lines_of(work(d)))
        if d.state()["state"] == "stopped":
            d.kill()


def compare_lines(before, after):
    for number, (want, got) in enumerate(zip(before, after)):
        equal(got, want, f"line {number}, behind {before[max(0, number - 3):number]}")
    equal(len(after), len(before), "lines")
    check(len(before) > 5, f"there is something to compare: {before}")


def test_step(d):
    compare(d, lambda d: walk(d, ["step"]))


def test_next(d):
    compare(d, lambda d: walk(d, ["next"]))


def test_stepi(d):
    compare(d, lambda d: walk(d, ["stepi"], 250))


def test_nexti(d):
    compare(d, lambda d: walk(d, ["nexti"], 250))


def test_step_and_finish(d):
    compare(d, lambda d: walk(d, ["step", "step", "step", "finish", "next"], 60))


def test_next_behind_a_look_at_the_code(d):
    """What the debugger has read of the code does not lead a step into the bytes of a jump."""
    look = "disassemble -n session_unref" if d.name == "lldb" else "disassemble session_unref"
    compare(d, lambda d: [screen for screen in walk(d, ["next", look]) if "Dump of" not in screen and "disassemble" not in screen])


def test_until_and_advance(d):
    if d.name == "gdb":
        compare(d, lambda d: walk(d, ["step", "until", "advance session_unref", "info args", "until"], 60))
    else:
        compare(d, lambda d: walk(d, ["thread step-in", "thread step-over", "_regexp-tbreak session_unref", "continue",
                                      "frame variable"], 60))


def at_function(d, function, commands):
    d.case.left_to_breakpoints = 2  # the user's breakpoint stands in the bytes of the jump
    d.break_at(function)
    screens = [d.run()]
    for command in commands:
        screens.append(d.command(command))
    d.delete_breakpoints()
    return screens


def test_arguments_and_code_at_a_followed_function(d):
    look = ["info args", "info frame", "x/6i $pc", "disassemble", "bt", "continue", "info args", "bt"]
    if d.name == "lldb":
        look = ["frame variable", "frame info", "disassemble -c 6 -s $pc", "disassemble -f", "bt", "continue", "frame variable", "bt"]
    compare(d, *(lambda d, function=function: at_function(d, function, look) for function in ("session_ref", "session_unref")))


def look_at_code(d, look):
    return [d.command(command.format(f)) for f in ("session_new", "session_ref", "session_unref") for command in look]


def at_main(d, look):
    d.break_at("main")
    screens = [d.run()]
    d.delete_breakpoints()
    return screens + look_at_code(d, look)


def test_code_of_followed_functions(d):
    look = ["disassemble {}", "disassemble /s {}", "x/9i {}"]
    if d.name == "lldb":
        look = ["disassemble -n {}", "disassemble -b -n {}", "memory read -c 48 {}", "memory read -f i -c 9 {}"]
    compare(d, lambda d: at_main(d, look + look[:1]))


def at_breakpoint(d, look):
    d.case.left_to_breakpoints = 2  # the user's breakpoint stands in the bytes of the jump
    d.break_at("session_unref")
    d.run()
    screens = look_at_code(d, look)
    d.cont()
    screens += look_at_code(d, look)
    d.delete_breakpoints()
    return screens


def test_code_at_a_stop(d):
    compare(d, lambda d: at_breakpoint(d, ["disassemble -n {}" if d.name == "lldb" else "disassemble {}"]))


def from_inside(d, commands):
    """From a breakpoint in a function whose call comes back to the agent."""
    d.case.left_to_breakpoints = 1  # in GDB
    d.break_at_line("stepping.c", 16)
    screens = [d.run()]
    d.delete_breakpoints()
    return screens + [d.command(command) for command in commands]


def test_steps_out_of_a_followed_function(d):
    gdb = ["until"] * 6, ["advance main", "next"]
    walks = ["next"] * 6, ["step"] * 6, ["stepi"] * 60, *(gdb if d.name == "gdb" else ())
    if d.name == "lldb":  # stepi shows the agent's code, and a breakpoint keeps a step into an inlined copy from showing its call
        walks = ["next"] * 6, ["step"] * 3
    compare(d, *(lambda d, walk=walk: from_inside(d, walk) for walk in walks))


def test_finish_out_of_a_followed_function(d):
    look = ["bt", "finish", "bt", "next", "next"] if d.name == "gdb" else ["finish", "bt", "next", "next"]
    compare(d, lambda d: from_inside(d, look))


def test_return_and_call(d):
    calls = ["print session_ref(s)", "up", "info locals", "down", "return", "bt", "next", "next"]
    if d.name == "lldb":
        calls = ["expression session_ref(s)", "up", "down", "thread return", "bt", "next", "next"]
    compare(d, lambda d: at_function(d, "session_unref", calls))
