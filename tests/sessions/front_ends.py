"""What each debugger has of its own (on the program of events.c)."""

from harness.checks import check, contains, equal, lacks


def test_same_words_in_help(d):
    text = d.refhist("help")
    for verb in ("track", "discover", "untrack", "status", "start", "stop", "reset", "objects", "leaks", "check",
                 "break-on-leak", "break-on-imbalance", "break-on-put-to-zero"):
        contains(text, verb, "help")
        contains(d.refhist(f"help {verb}"), f"refhist {verb}", f"help {verb}")


def test_typed_commands(d):
    contains(d.command("refhist help"), "refhist track", "help as typed")
    contains(d.command("help refhist"), "refhist", "the debugger's own help")


def test_count_function_of_gdb(d):
    if d.name != "gdb":
        return
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    equal(d.command("print $refhist_count(subject)").split()[-1], "2", "$refhist_count")


def test_completion_of_gdb(d):
    if d.name != "gdb":
        return
    contains(d.command("complete refhist trac"), "refhist track", "completion of verbs")
    contains(d.command("complete refhist track json_obj"), "json_object", "completion of families")
    contains(d.command("complete refhist leaks --reach"), "--reachable", "completion of options")
    contains(d.command("complete refhist set keep-"), "keep-history", "completion of settings")
    contains(d.command("complete refhist set keep sus"), "refhist set keep suspect", "completion of a setting's values")


def test_settings_of_gdb(d):
    if d.name != "gdb":
        return
    lacks(d.command("show refhist"), "Undefined", "show refhist")


def test_expression_with_spaces(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    whole = d.object("subject")
    address = int(whole["address"], 16)
    equal(d.object(f"(struct conn *){address - 16:#x} + 1")["address"], whole["address"], "object of an expression")


def test_our_breakpoints_do_not_stop_the_user(d):
    d.track_conn()
    screen = d.run()
    lacks(screen, "conn_get", "screen of an undisturbed run")
    d.expect_exit(0)


def test_unused_it_costs_nothing(d):
    d.run()
    d.expect_exit(0)
    check(d.refhist("status").strip(), "status prints nothing")


def test_abbreviated_verbs(d):
    contains(d.refhist("obj"), "0 live objects", "an unambiguous beginning of a verb")
    contains(d.refhist("break-on-l"), "break-on-leak", "another one")
    contains(d.refhist_error("leask"), "did you mean refhist leaks?", "a mistyped one")
    d.refhist_error("s")
