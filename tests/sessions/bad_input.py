"""Bad input: one clear line each, nothing is lost, the session goes on (on the program of lifecycle.c, whose `subject` has one get at the
first checkpoint)."""

from harness.checks import contains, equal, matches, only_where
from harness.shapes import roles

CONN = "--get conn_get --put conn_put --init conn_new --free conn_free"


def still_works(d):
    """After every error tracking must still be possible and right."""
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    equal(roles(d.object("subject")), ["init", "get"], "events after the error")


def test_unknown_verb(d):
    contains(d.refhist_error("leeks"), "leaks", "error")
    still_works(d)


def test_unknown_option(d):
    contains(d.refhist_error("leaks --reachible"), "--reachable", "error")
    still_works(d)


def test_option_without_value(d):
    contains(d.refhist_error("track --get"), "--get", "error")
    still_works(d)


def test_unknown_family(d):
    contains(d.refhist_error("track json_objekt"), "json_object", "error")
    still_works(d)


def test_track_nothing(d):
    matches(d.refhist("track"), r"(?m)^  GObject +object of GLib's type system$", "the families, one a line")
    still_works(d)


def test_misspelt_function(d):
    d.break_at("main")
    d.run()
    text = d.refhist_error("track --get conn_gett --put conn_put")
    contains(text, "conn_gett", "error")
    contains(text, "conn_get", "error")
    d.delete_breakpoints()
    still_works(d)


def test_misspelt_function_before_run(d):
    answer = d.execute("refhist track --get conn_gett --put conn_put")
    d.run()
    d.expect_exit(3)
    contains(answer["text"] + d.refhist("status"), "conn_gett", "what is said about the function")


def test_wrong_member_path(d):
    d.break_at("main")
    d.run()
    text = d.refhist_error(f"track {CONN} --count refz")
    contains(text, "refz", "error")
    contains(text, "refs", "error")
    d.delete_breakpoints()
    still_works(d)


def test_wrong_type(d):
    d.break_at("main")
    d.run()
    answer = d.execute(f"refhist track {CONN} --count refs --type 'struct con'")
    contains(answer["text"] + d.refhist("status"), "struct con", "what is said about the type")


def test_history_without_process(d):
    matches(d.refhist_error("0x1234"), r"\S", "error")
    matches(d.refhist_error("subject + nonsense"), "nonsense", "error")
    still_works(d)


def test_address_that_was_never_seen(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    contains(d.refhist_error("0x1234"), "0x1234", "error")
    equal(roles(d.object("subject")), ["init", "get"], "events after the error")


def test_unreadable_memory(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    matches(d.refhist_error("*(long *)0"), r"\S", "error")
    equal(roles(d.object("subject")), ["init", "get"], "events after the error")


def test_rule_that_does_not_exist(d):
    contains(d.refhist_error("break-on-leak delete 7"), "7", "error")
    still_works(d)


def test_rule_for_unknown_function(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    contains(d.refhist_error("break-on-leak --after conn_gat"), "conn_get", "error")


def test_rule_for_unknown_family(d):
    d.track_conn()
    contains(d.refhist_error("break-on-leak --family con"), "conn", "error")


def test_two_families_claim_one_function(d):
    d.break_at("main")
    d.run()
    d.track_conn()
    text = d.refhist_error("track --name other --get conn_get --put conn_put")
    for part in ("conn_get", "conn", "other"):
        contains(text, part, "error")
    d.delete_breakpoints()
    d.break_at("checkpoint")
    d.cont()
    equal(roles(d.object("subject")), ["init", "get"], "events after the error")


def toml_error(d, text):
    path = d.write_file("mine.toml", text)
    error = d.refhist_error(f"track --probes {path}")
    contains(error, "mine.toml:", "error")
    return error


def test_toml_syntax(d):
    matches(toml_error(d, 'schema = 1\n[[family]]\nname = "conn\n'), r"mine\.toml:3", "error")
    still_works(d)


def test_toml_unknown_key(d):
    text = toml_error(d, 'schema = 1\n[[family]]\nname = "conn"\nputt = ["conn_put"]\nget = ["conn_get"]\n')
    matches(text, r"mine\.toml:4.*\bput\b", "error")
    still_works(d)


def test_toml_wrong_value(d):
    matches(toml_error(d, 'schema = 1\n[[family]]\nname = "conn"\nput = 7\nget = ["conn_get"]\n'), r"mine\.toml:4",
            "error")
    still_works(d)


def test_toml_file_that_is_not_there(d):
    contains(d.refhist_error("track --probes /nowhere/mine.toml"), "/nowhere/mine.toml", "error")
    still_works(d)


@only_where(lambda name: name == "gdb", "LLDB closes the quote itself before a command sees its words")
def test_unclosed_quote(d):
    matches(d.refhist_error("track --get 'conn_get"), r"\S", "error")
    still_works(d)


def test_command_while_the_program_runs(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run("wait", d.ready_path())
    d.delete_breakpoints()
    subject = d.value("subject")
    d.cont_in_background()
    d.wait_ready()
    equal(d.state()["state"], "running", "state")
    matches(d.refhist_error("track --get conn_get --put conn_put --name again"), "(?i)run", "error")
    equal(roles(d.object(f"{subject:#x}"))[:2], ["init", "get"], "history while the program runs")


@only_where(lambda name: name == "lldb", "GDB knows at once that its program goes on")
def test_command_right_behind_a_continue(d):
    """Nothing may be told of a program that runs as if it stood still."""
    d.track_conn()
    d.break_at("checkpoint")
    d.run("wait", d.ready_path())
    d.delete_breakpoints()
    answers = d.ask_right_behind_continue("refhist leaks", 50)
    equal(answers, [{"ok": False, "text": "the program is running: interrupt it first"}], "answers")
