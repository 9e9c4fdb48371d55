"""`import refhist` in the debugger's Python (on the program of leak_at_end.c)."""

from harness.checks import check, contains, equal
from harness.shapes import called_from, counts, only

VALUE = {"gdb": 'gdb.parse_and_eval("singleton")', "lldb": 'frame.EvaluateExpression("singleton")'}
NUMBER = {"gdb": 'int(gdb.parse_and_eval("singleton"))', "lldb": 'frame.EvaluateExpression("singleton").GetValueAsUnsigned()'}


def run_to_the_leak(d):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run("exit")
    d.expect_stop()


def test_history(d):
    """The same object by an expression, by a number and by a value of the debugger."""
    run_to_the_leak(d)
    found = only(d.python('refhist.history("singleton")'), "objects")
    equal(found, d.object("singleton"), "history")
    equal((found["count"], counts(found)), (1, [(None, 1)]), "count and events")
    for where in (VALUE[d.name], NUMBER[d.name]):
        equal(d.python(f"refhist.history({where})"), [found], f"history of {where}")


def test_history_with_options(d):
    run_to_the_leak(d)
    born = d.object("singleton")["events"][0]["seq"]
    before = d.python(f'refhist.history("singleton", "--at", {born - 1})' if born else 'refhist.history("singleton", "--all")')
    equal(only(before, "objects")["address"], d.object("singleton")["address"], "address")


def test_objects_and_leaks(d):
    run_to_the_leak(d)
    equal(len(d.python("refhist.objects()")), 3, "live objects")
    equal(len(d.python('refhist.objects("--all")')), 12, "objects")
    equal(d.python('refhist.objects("--family", "no such family")'), [], "objects of a family with blanks in its name")
    leak = only(d.python("refhist.leaks()"), "groups")
    equal((leak["verdict"], leak["reach"], len(leak["objects"])), ("leak", "unreachable", 2), "what is leaked")
    called_from(leak["references"][0], "forget")


def test_findings_and_the_debugger_goes_on(d):
    run_to_the_leak(d)
    finding = only(d.python("refhist.findings()"), "findings")
    equal((finding["verdict"], finding["alike"]), ("leak", 2), "finding")
    equal(only(d.refhist_json("check --stay")["findings"], "findings"), finding, "as the command says")
    d.cont()
    d.expect_exit(4)


def test_no_findings_are_no_proof_of_nothing(d):
    """Nothing ran: that there are no findings says nothing."""
    d.track_conn()
    contains(d.python_error("refhist.findings()"), "no program", "error")


def test_status_and_the_rest(d):
    equal(d.python("refhist.status()")["families"], [], "families before anything is tracked")
    run_to_the_leak(d)
    status = d.python("refhist.status()")
    equal([family["name"] for family in status["families"] if not family["by_default"]], ["conn"], "families")
    equal(status["totals"]["objects"], 12, "objects")
    check(d.python('refhist.document("usage")["places"]'), "usage has no places")
    contains(d.python('refhist.command("leaks")'), "2 conn leaked", "the text of a command")


def test_refusals(d):
    equal(d.python_error('refhist.history("no_such_variable")'), d.refhist_error("history no_such_variable"), "error")
    contains(d.python_error('refhist.leaks("--no-such-option")'), "--no-such-option", "error")
    equal(d.python_error('refhist.command("untrack nothing")'), d.refhist_error("untrack nothing"), "error")


def test_help(d):
    for name in ("history", "leaks", "objects", "findings", "status"):
        check(d.python(f"refhist.{name}.__doc__"), f"{name} has no help")
