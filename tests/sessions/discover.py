"""What discover proposes can be tracked as it is (on the program of events.c)."""

from harness.checks import contains, equal, lacks
from harness.shapes import roles


def test_proposal_is_ready_to_use(d):
    d.break_at("main")
    d.run()
    text = d.refhist("discover 'conn*'")
    lacks(text, "only in the program itself", "proposal")
    for part in ("[[family]]", "conn_get", "conn_put", "conn_new"):
        contains(text, part, "proposal")
    path = d.write_file("found.toml", text)
    d.track(f"--probes {path}")
    d.delete_breakpoints()
    d.break_at("checkpoint")
    d.cont()
    subject = d.object("subject")
    equal((roles(subject), subject["count"]), (["init", "get"], 2), "roles and count")


def test_before_the_program_runs(d):
    text = d.refhist("discover 'conn*'")
    contains(text, "conn_get", "proposal")
    contains(text, "only the program itself was searched", "what was not looked at")
    contains(text, 'count = "refs"', "the counter's name")


def test_saved(d):
    path = d.write_file("found.toml", "")
    contains(d.refhist(f"discover 'conn*' --save {path}"), f"1 family written to {path}", "what was done")
    contains(d.track(f"--probes {path}"), "tracking conn", "what was saved")
    contains(d.refhist_error(f"discover 'no_such_*' --save {path}.2"), "no family was found", "nothing to save")


def test_tracked_at_once(d):
    contains(d.refhist("discover 'conn*' --track"), "tracking conn", "what is tracked")
    d.break_at("checkpoint")
    d.run()
    equal(roles(d.object("subject")), ["init", "get"], "roles")
