"""What discover proposes can be tracked as it is (on the program of events.c)."""

from harness.checks import contains, equal
from harness.shapes import roles


def test_proposal_is_ready_to_use(d):
    d.break_at("main")
    d.run()
    text = d.refhist("discover 'conn*'")
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
    contains(d.refhist("discover 'conn*'"), "conn_get", "proposal")
