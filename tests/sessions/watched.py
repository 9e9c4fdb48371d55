"""refhist watch: every instruction that changes a counter, merged with what the probes tell."""

from harness.checks import check, contains, equal
from harness.machine import watchpoints_trigger
from harness.shapes import counts, functions, roles

FAMILY = "--name item --init item_new --get item_get --put item_put --count refs"


def to_first_checkpoint(d, how=""):
    d.track(FAMILY)
    d.break_at("checkpoint")
    d.run(how)


def watches(d, how=""):
    """Stands at the first checkpoint, where a counter can be watched; false where the machine cannot do that, and says so."""
    to_first_checkpoint(d, how)
    if not watchpoints_trigger():
        contains(d.refhist_error("watch subject"), "hardware watchpoints do not trigger on this machine", "what is said")
    return watchpoints_trigger()


def test_every_change_is_an_event(d):
    if not watches(d):
        return
    contains(d.refhist("watch subject"), "watching the counter of item 0x", "answer")
    d.cont()
    subject = d.object("subject")
    events = [event for event in subject["events"] if event["role"] not in ("alloc", "init")]
    equal([(e["count_before"], e["count_after"]) for e in events], [(1, 2), (2, 3), (3, 4), (4, 2), (2, 3), (3, 2)], "counts")
    seen = [event for event in events if event["site"] is None]
    equal([functions(event)[0] for event in seen], ["steal", "give_two", "steal"], "who changed it without a probe")
    check(seen[2]["thread"]["id"] != seen[0]["thread"]["id"], "the third one was another thread")
    check("unobserved" not in roles(subject), "nothing was unobserved")
    contains(d.refhist("subject"), "changed without a probe <- steal (watched.c:", "the line")
    contains(d.refhist("watch"), "3 changes without a probe", "the list")
    equal(d.value("subject->refs"), subject["count"], "count")


def test_a_fifth_is_refused(d):
    if not watches(d):
        return
    for expression in ("subject", "others[0]", "others[1]", "others[2]"):
        d.refhist(f"watch {expression}")
    contains(d.refhist_error("watch others[3]"), "no more watchpoints: refhist watch --delete ADDR", "the fifth")
    contains(d.refhist_error("watch subject"), "is already watched", "twice")
    d.refhist("watch --delete others[0]")
    d.refhist("watch others[3]")
    d.refhist("watch --delete")
    equal(d.refhist("watch"), "no counter is watched\n", "the list")
    contains(d.refhist_error("watch --delete subject"), "is not watched", "delete")


def test_it_ends_with_its_object(d):
    if not watches(d, "reuse"):
        return
    d.refhist("watch subject")
    d.cont()
    d.cont()
    equal(d.refhist("watch"), "no counter is watched\n", "after the end of the object")
    d.cont()
    d.expect_exit(6)


def test_a_second_run(d):
    if not watches(d):
        return
    d.refhist("watch subject")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(5)
    equal(d.refhist("watch"), "no counter is watched\n", "after the end of the process")
    d.refhist_error("watch subject")
    d.run()
    d.expect_exit(5)


def test_without_it_the_change_is_unobserved(d):
    to_first_checkpoint(d)
    d.cont()
    check("unobserved" in roles(d.object("subject")), "nobody has watched")
    equal(counts(d.object("subject"))[-1], (3, 2), "the last put")


def test_the_users_hand_is_noticed(d):
    """LLDB's own list has our watchpoints, so that the user can delete them."""
    if not watches(d):
        return
    d.refhist("watch subject")
    if d.name != "lldb":
        return
    contains(d.command("watchpoint list"), "state = enabled", "LLDB's list")
    d.command("watchpoint delete --force")
    contains(d.refhist("watch"), "its watchpoint is gone", "the list")
    contains(d.refhist("status"), "the watchpoint on the counter at 0x", "status")
