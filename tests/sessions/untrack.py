"""untrack: nothing of the family is armed any more, what was recorded stays, the name is free (on the program of
events.c)."""

from harness.checks import check, contains, equal, lacks, matches
from harness.shapes import check_findings, objects, roles


def sites_in_program(d):
    return [s for s in d.refhist_json("status")["sites"] if s["family"] == "conn"]


def untrack_at_first_checkpoint(d, words="conn"):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    answer = d.refhist(f"untrack {words}")
    contains(answer, "conn is no longer tracked: the history of 1 object is kept", "answer")


def test_nothing_is_recorded_any_more(d):
    untrack_at_first_checkpoint(d)
    equal(sites_in_program(d), [], "sites of the family")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    (kept,) = objects(d, "--all")
    equal((roles(kept), kept["state"]), (["init", "get"], "unknown"), "what was recorded stays")
    contains(d.refhist(kept["address"]), "it was live when its family was untracked", "history")
    contains(d.refhist("status"), "conn (untracked): 2 events and 1 object kept", "status")
    equal([f["tracked"] for f in d.refhist_json("status")["families"]], [False], "tracked")


def test_what_lived_is_never_called_leaked(d):
    untrack_at_first_checkpoint(d)
    d.refhist("break-on-leak")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    contains(d.refhist("leaks"), "nothing is leaked", "leaks")
    equal(check_findings(d)[1], [], "findings")


def test_the_name_and_the_functions_are_free(d):
    untrack_at_first_checkpoint(d, "--all")
    answer = d.track_conn()
    matches(answer, r"tracking conn: [1-9]\d* sites armed", "answer to track")
    d.cont()
    (again,) = objects(d)
    equal((roles(again), again["complete"]), (["get"], False), "events after the gap")


def test_in_the_middle_of_a_watched_call(d):
    d.track_conn()
    d.break_at("conn_new")
    d.run()
    d.refhist("untrack conn")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    equal(objects(d, "--all"), [], "objects")


def test_a_mistyped_family_that_waits(d):
    d.track("--get jsonn_object_get --put jsonn_object_put")
    d.track_conn()
    answer = d.refhist("untrack 'json*'")
    contains(answer, "jsonn_object is no longer tracked\n", "answer")
    lacks(d.refhist("status"), "jsonn", "status")
    d.break_at("checkpoint")
    d.run()
    equal(roles(d.object("subject")), ["init", "get"], "the other family")


def test_a_shipped_group(d):
    """Dozens of families: one line, and one for what is to be said of each of them."""
    answer = d.track("glib")
    matches(answer, r"tracking \d+ families of glib from the next run on\n")
    equal(answer.count("tracking"), 1, "lines that say what is tracked")
    check(answer.count("\n") <= 3, f"not one line for each family:\n{answer}")
    d.break_at("main")
    d.run()
    told = [line for line in d.refhist("status").splitlines() if "was found" in line]
    equal(len(told), 1, f"lines about families without functions: {told}")
    matches(told[0], r"and \d+ more \(\d+ families\): none of their functions was found")
    lacks(d.refhist("untrack glib"), "conn", "answer")
    contains(d.refhist("status"), "nothing is tracked", "status")


def test_two_families_on_the_same_code(d):
    """The second one's sites are armed once the first one's are free."""
    d.break_at("main")
    d.run()
    d.track_conn()
    d.track("--name wide --get conn_ge* --put conn_pu*")
    d.refhist("untrack conn")
    d.delete_breakpoints()
    d.break_at("checkpoint")
    d.cont()
    (seen,) = objects(d)
    equal((seen["family"], roles(seen)), ("wide", ["get"]), "who records now")


def test_wrong_names(d):
    d.track_conn()
    contains(d.refhist_error("untrack con"), "did you mean conn?", "error")
    contains(d.refhist_error("untrack conn json_object"), "json_object is not tracked", "error")
    equal([f["name"] for f in d.refhist_json("status")["families"]], ["conn"], "families after the errors")
    contains(d.refhist_error("untrack"), "usage: refhist untrack FAMILY, or --all", "error")
    d.refhist("untrack conn")
    contains(d.refhist_error("untrack --all"), "nothing is tracked", "error")


def test_completion_of_gdb(d):
    if d.name != "gdb":
        return
    d.track_conn()
    contains(d.command("complete refhist untrack co"), "refhist untrack conn", "completion")
    d.refhist("untrack conn")
    lacks(d.command("complete refhist untrack co"), "conn", "completion after it")
