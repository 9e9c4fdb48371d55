"""The json-c demo on Debian's library: 8 of 420 replies are leaked."""

import re

from harness.checks import check, contains, equal
from harness.shapes import called_from, leaks, only, source_line


def run_to_the_leak(d):
    d.track("json_object")
    d.refhist("break-on-leak")
    screen = d.run()
    d.expect_stop()
    return screen


def leaked_replies(d):
    groups = [g for g in leaks(d) if g["verdict"] == "leak" and len(g["objects"]) == 8 and g["reach"] == "unreachable"]
    return only(groups, f"unreachable groups in {[(g['born_by'], g['reach'], len(g['objects'])) for g in leaks(d)]}")


def test_the_leak(d):
    contains(run_to_the_leak(d), "8", "the line that says why")
    found = leaked_replies(d)
    called_from(found["references"][0], "handle_reply")
    suspect = found["suspects"][0]
    equal((suspect["function"], suspect["what"], suspect["confidence"]), ("handle_reply", "missing put", "candidate"),
          "suspect")
    contains(source_line(suspect), "return request_failed", "the line of the first suspect, as the README shows it")
    contains(found["suspects"][1]["why"], "412", "why")


def test_history_of_a_leaked_reply(d):
    run_to_the_leak(d)
    address = leaked_replies(d)["objects"][0]["address"]
    text = d.refhist(address)
    for part in ("json_client.c", "handle_reply"):
        contains(text, part, "history")


def test_status_accuses_no_module(d):
    run_to_the_leak(d)
    status = d.refhist_json("status")
    equal((status["modules_not_read"], status["modules_from_memory"]), ([], []), "modules")


def test_check(d):
    run_to_the_leak(d)
    status, _ = d.ending_command("refhist check --fail-on leak")
    equal(status, 23, "exit status")


def test_the_program_is_unharmed(d):
    run_to_the_leak(d)
    d.cont()
    d.expect_exit(0)
    check(re.search(r"420 requests, 8 failed", d.output()), f"output: {d.output()}")
