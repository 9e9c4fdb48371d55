"""Two control blocks own one object: told before or when it is deleted twice, with the line that made the second."""

from harness.checks import IN_AGENT, contains, equal, only_where
from harness.shapes import check_findings, only, source_line


def run(d, mode):
    if IN_AGENT:
        d.refhist("set allocators auto")
        d.refhist("track shared_ptr")
    else:
        d.refhist("track shared_ptr malloc")
    d.break_at("checkpoint")
    d.run(mode)
    d.expect_stop(function="checkpoint")


def the_second(d, function, mark):
    status, found = check_findings(d, "--fail-on imbalance")
    finding = only([one for one in found if one["verdict"] == "second-owner"], "findings")
    equal((status, len(found)), (23, 1), "status, findings")
    suspect = only(finding["suspects"], "suspects")
    equal((suspect["what"], suspect["confidence"]), ("second owner", "named"), "suspect")
    contains(suspect["function"], function, "who made it")
    contains(source_line(suspect), mark, "the line")


def test_one_that_was_released(d):
    run(d, "dies")
    the_second(d, "look_once", "second owner, for a moment")


def test_both_still_there(d):
    run(d, "stays")
    the_second(d, "add_again", "second owner")


def test_the_first_has_deleted_it(d):
    run(d, "weak")
    the_second(d, "add_again", "second owner")


def test_of_one_made_in_place(d):
    run(d, "inplace")
    the_second(d, "add_again", "second owner")


@only_where(lambda name: IN_AGENT and name == "gdb", "a launch by LLDB itself withholds nothing of what libstdc++'s start has set aside")
def test_use_of_what_one_of_them_has_deleted(d):
    d.refhist("set allocators auto")
    d.refhist("set quarantine 64M")
    d.refhist("track shared_ptr")
    screen = d.run("used") + d.command("refhist status")  # LLDB says it at the next command
    d.expect_stop(signal="SIGSEGV")
    contains(screen, "refhist: second-owner: shared_ptr 0x", "what the stop says")
    contains(screen, "already, and has lost it to this one", "what the stop says")
    the_second(d, "watch", "second owner, which deletes it")


def test_right(d):
    run(d, "right")
    status, found = check_findings(d, "--fail-on imbalance")
    equal((status, found), (0, []), "findings")
