"""The main screens, word for word as in golden/, the same in both debuggers.

After a change of the texts: REFHIST_UPDATE_GOLDEN=1 ctest --test-dir build -R 'screens.*gdb'; then read the difference.
"""

import os

from harness.checks import check, golden
from harness.shapes import leaks, only

SLOT = "--init slot_new --get slot_get --put slot_put --put slot_drop --free slot_free --count refs"
MISTAKES = ("over-put", "put-after-free", "get-after-free", "resurrection", "free-while-referenced", "unobserved-change")


def screen(d, name, text):
    golden(os.path.join(d.case.folder, "golden", name + ".txt"), text)


def why_stopped(text):
    """The line of refhist among what the debugger says about a stop."""
    lines = [line for line in text.splitlines() if line.startswith("refhist: ")]
    check(len(lines) == 1, f"{len(lines)} lines of refhist at the stop:\n{text}")
    return lines[0] + "\n"


def for_program(name, test):
    """The variant names the program, and each program has screens of its own."""

    def run(d):
        if d.variant == name:
            test(d)

    return run


def leak(d):
    text = d.track_conn()
    text += d.refhist("status")
    text += d.refhist("break-on-leak")
    stop = why_stopped(d.run())
    screen(d, "track-and-status-before-run", text)
    screen(d, "stop-leak", stop)
    screen(d, "status", d.refhist("status --sites"))
    screen(d, "objects", d.refhist("objects"))
    screen(d, "leaks", d.refhist("leaks"))
    leaked = only(leaks(d), "leak groups")["objects"][0]["address"]
    screen(d, "history", d.refhist(leaked))
    screen(d, "rules", d.refhist("break-on-leak list"))
    _, text = d.ending_command("refhist check --fail-on leak")
    screen(d, "check", text)


def help_of_each_verb(d):
    screen(d, "help", d.refhist("help"))
    screen(d, "help-leaks", d.refhist("help leaks"))


def mistakes(d):
    d.track(SLOT)
    d.refhist("break-on-imbalance")
    text = ""
    for name in MISTAKES:
        text += f"== {name}\n" + why_stopped(d.run(name)) + d.refhist("subject")
    screen(d, "mistakes", text)


def put_to_zero(d):
    d.track(SLOT)
    d.refhist("break-on-put-to-zero")
    screen(d, "stop-put-to-zero", why_stopped(d.run("clean")))


def after(d):
    d.track_conn()
    text = d.refhist("break-on-leak --after handle") + d.refhist("break-on-imbalance --after keep")
    text += why_stopped(d.run()) + why_stopped(d.cont())
    screen(d, "stop-after", text)


test_leak = for_program("siblings", leak)
test_help = for_program("siblings", help_of_each_verb)
test_mistakes = for_program("mistakes", mistakes)
test_put_to_zero = for_program("mistakes", put_to_zero)
test_after = for_program("after_function", after)
