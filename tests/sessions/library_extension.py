"""The inlined Py_INCREF and Py_DECREF of an extension module, in Debian's CPython, which has inlined ones of its own without debug
information: the module's are recorded, each once; the interpreter's are seen to have happened."""

import os

from harness.checks import check, contains, equal
from harness.shapes import check_findings, objects, only, role_totals


def run(d, tracked="--type PyObject --get Py_INCREF --put Py_DECREF --count ob_refcnt"):
    d.track(tracked)
    d.run("-I", "-S", os.path.join(d.case.folder, "libraries", "python_extension.py"), os.path.join(d.case.build, "tests", "sessions"))
    d.expect_exit()


def test_every_event_of_the_module(d):
    run(d)
    totals = role_totals(objects(d, "--all"))
    equal((totals["get"], totals["put"]), (d.printed("gets"), d.printed("puts")), "gets and puts")
    sites = [site for site in d.refhist_json("status")["sites"] if site["probe"].startswith("Py_")]
    equal([site["inlined"] for site in sites], [True] * 3, "inlined sites")
    equal([site["why_not"] for site in sites], [""] * 3, "why not armed")


def test_the_shipped_family_follows_the_module(d):
    run(d, "PyObject")
    things = [int(line.split()[1], 16) for line in d.output().splitlines() if line.startswith("object")]
    # The interpreter makes tens of thousands of objects: each of these is asked for.
    events = [event for thing in things for event in d.refhist_json(f"{thing:#x}")["objects"][-1]["events"]]
    own = [event["role"] for event in events if event["site"] in ("Py_INCREF", "Py_DECREF")]
    equal((own.count("get"), own.count("put")), (d.printed("gets"), d.printed("puts")), "gets and puts")
    equal(check_findings(d)[1], [], "findings")


def test_who_holds_the_object_that_was_kept(d):
    run(d)
    told = {int(words[1], 16): int(words[2]) for words in map(str.split, d.output().splitlines()) if words and words[0] == "object"}
    equal(sorted(told.values()), [1, 1, 2], "references at the end")
    kept = next(address for address, count in told.items() if count == 2)
    for thing in objects(d, "--all"):
        address = int(thing["address"], 16)
        seen = [event["role"] for event in thing["events"] if event["role"] != "unobserved"]
        if address in told:
            equal(seen.count("get") - seen.count("put"), 2 if address == kept else 1, f"references of the module on {address:#x}")
    tree = d.refhist(f"balance {kept:#x}")
    contains(tree, "take", "who has not given back")


def test_changes_of_the_interpreter_are_seen(d):
    run(d)
    changed = [event for thing in objects(d, "--all") for event in thing["events"] if event["role"] == "unobserved"]
    check(changed, "no change was noticed")
    for finding in d.refhist_json("leaks")["leaks"]:
        equal((finding["verdict"], finding["suspects"]), ("undecidable", []), "what is said where changes were unseen")


def test_an_error_path_that_loses_its_object(d):
    d.track("PyObject")
    d.run("-I", "-S", os.path.join(d.case.folder, "libraries", "python_lost.py"), os.path.join(d.case.build, "tests", "sessions"))
    d.expect_exit(0)
    lost = d.printed("lost")
    leak = only(check_findings(d)[1], "findings")
    # The interpreter's memory is told block by block: nothing but a stale pointer on the stack holds one.
    check(lost - 1 <= leak["alike"] <= lost, f"{leak['alike']} of {lost} are told")
    equal((leak["object"]["dynamic_type"], leak["suspects"][0]["function"]), ("session_extension.Posting", "post"), "type, suspect")
