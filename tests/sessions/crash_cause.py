"""A crash names the dead object behind it, and a crash for another reason names none."""

from harness.checks import agent_only, contains, equal, lacks
from harness.shapes import check_findings, verdicts

THEME = "--init theme_new,theme_sized --get theme_get --put theme_put --count refs"


def die(d, way):
    """What the session has printed until the program stands at its signal."""
    d.refhist("set allocators auto")
    d.track("malloc")
    d.track(THEME)
    screen = d.run(way) + d.command("refhist status")  # LLDB says it at the next command
    d.expect_stop(signal="SIGABRT" if way == "twice" else "SIGSEGV")
    return screen


def expect_use(d, way, text):
    screen = die(d, way)
    contains(screen, "refhist: use-after-free: theme 0x", "what the stop says")
    contains(screen, text, "how it was used")
    history = d.refhist(f"0x{screen.split('theme 0x')[1].split(':')[0]}")
    contains(history, "use", "the history has the use")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["use-after-free"]), "exit status and verdicts")
    contains(found[0]["why"], text, "the finding")


def test_a_member_of_a_dead_object(d):
    expect_use(d, "member", "used after its memory was freed, 0 bytes into it: SIGSEGV")


def test_an_argument_from_a_dead_object(d):
    expect_use(d, "argument", "used after its memory was freed, 0 bytes into it: SIGSEGV")


@agent_only("quarantine is the agent's")
def test_the_rest_of_memory_that_another_had_since(d):
    d.refhist("set quarantine auto")
    expect_use(d, "tail", "used after its memory was freed, 224 bytes into it: SIGSEGV")


def test_memory_that_goes_twice(d):
    expect_use(d, "twice", "freed again after its memory was freed: SIGABRT")


def test_another_reason(d):
    lacks(die(d, "other"), "use-after-free", "what the stop says")
    equal(check_findings(d), (0, []), "exit status and findings")


def test_memory_in_use_again(d):
    lacks(die(d, "reused"), "use-after-free", "what the stop says")
    equal(check_findings(d), (0, []), "exit status and findings")
