"""refhist check: 23 with findings, 0 when clean, 1 when the session failed; typed and in batch scripts."""

from harness.checks import check, contains, equal, matches
from harness.shapes import called_from, check_findings, only


def run_to_leak_stop(d, how="exit"):
    d.track_conn()
    d.refhist("break-on-leak")
    d.run(how)


def test_findings(d):
    run_to_leak_stop(d)
    status, text = d.ending_command("refhist check --fail-on leak")
    equal(status, 23, "exit status")
    contains(text, "forget", "what is printed")


def test_findings_that_do_not_count(d):
    run_to_leak_stop(d)
    status, _ = d.ending_command("refhist check --fail-on over-put")
    equal(status, 0, "exit status")


def test_after_the_end_of_the_process(d):
    run_to_leak_stop(d)
    d.cont()
    d.expect_exit(4)
    status, _ = d.ending_command("refhist check --fail-on leak")
    equal(status, 23, "exit status")


def test_nothing_was_run(d):
    d.track_conn()
    status, text = d.ending_command("refhist check --fail-on leak")
    equal(status, 1, "exit status")
    matches(text, "(?i)no program|run", "what is printed")


def test_nothing_was_tracked(d):
    d.run("exit")
    status, text = d.ending_command("refhist check --fail-on leak")
    equal(status, 1, "exit status")
    contains(text.lower(), "track", "what is printed")


def test_json(d):
    run_to_leak_stop(d)
    status, findings = check_findings(d, "--fail-on leak")
    finding = only(findings, "findings")
    equal((status, finding["verdict"], finding["alike"]), (23, "leak", 2), "exit status, verdict, alike")
    called_from(finding["object"]["born"], "forget")
    check(finding["references"], "no reference is named")


def test_unknown_verdict(d):
    run_to_leak_stop(d)
    contains(d.refhist_error("check --fail-on leek"), "leak", "error")


def batch(d, lines):
    path = d.write_file("script", "\n".join(lines) + "\n")
    return d.run_batch(path, ["exit"])


def commands(d, *refhist):
    return [d.load_line(), *["refhist " + line for line in refhist]]


CONN = "track --get conn_get --put conn_put --init conn_new --free conn_free --count refs"


def test_batch_with_a_leak(d):
    status, text = batch(d, commands(d, CONN, "break-on-leak") + ["run", "refhist check --fail-on leak"])
    equal(status, 23, f"exit status of\n{text}")


def test_batch_without_rule(d):
    status, text = batch(d, commands(d, CONN) + ["run", "refhist check --fail-on leak"])
    equal(status, 23, f"exit status of\n{text}")


def test_batch_clean(d):
    status, text = batch(d, commands(d, CONN) + ["run", "refhist check --fail-on over-put"])
    equal(status, 0, f"exit status of\n{text}")


def test_batch_in_which_nothing_worked(d):
    status, text = batch(d, commands(d, "track nonsense") + ["run", "refhist check --fail-on leak"])
    equal(status, 1, f"exit status of\n{text}")


def test_at_a_prompt_the_debugger_goes_on(d):
    run_to_leak_stop(d)
    contains(d.refhist("check --fail-on leak"), "the debugger keeps running; in a script it would exit with 23", "check")
    contains(d.refhist("status"), "break-on-leak, 1 hit", "the session afterwards")
    d.cont()
    d.expect_exit(4)
