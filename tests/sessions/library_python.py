"""CPython's exported functions, in Debian's interpreter itself: libraries/python_objects.py prints what it takes and gives back."""

import os

from harness.checks import check, contains, equal
from harness.shapes import counts, objects, only, roles


def stop_at_getppid(d):
    contains(d.expect_stop()["frames"][0], "getppid", "innermost frame")


def run_between_the_marks(d):
    """Only what lies between the two calls of getppid is recorded: the start of an interpreter makes thousands of objects."""
    d.break_at("getppid")
    d.run("-I", "-S", os.path.join(d.case.folder, "libraries", "python_objects.py"))
    stop_at_getppid(d)
    d.track("PyObject")
    d.cont()
    stop_at_getppid(d)


def told_by_the_program(d):
    calls = {}
    changes = []
    for line in d.output().splitlines():
        words = line.split()
        if words[0] == "immortal":
            continue
        if words[0] == "changes":
            changes = [int(word) for word in words[1:]]
        else:
            calls.setdefault(int(words[2], 16), []).append(words[0])
    check(calls and len(changes) == len(calls), f"what the program told: {d.output()}")
    return list(zip(calls.items(), changes))


def test_calls_are_recorded_with_the_counts_of_the_interpreter(d):
    run_between_the_marks(d)
    found = objects(d, "--all")
    for (address, told), change in told_by_the_program(d):
        thing = only([t for t in found if int(t["address"], 16) == address and t["state"] == "live"], f"objects at {address:#x}")
        equal(thing["complete"], False, "completeness of an object that was born before")
        equal(roles(thing), told, f"events of {address:#x}")
        first = counts(thing)[0][0]
        expected = [(first, first + 1), (first + 1, first + 2), (first + 2, first + 3), (first + 3, first + 2)]
        equal(counts(thing), expected, f"counts of {address:#x}")
        equal(counts(thing)[-1][1] - first, change, f"change by sys.getrefcount of {address:#x}")


def test_immortal_objects_are_not_followed(d):
    run_between_the_marks(d)
    immortal = [int(line.split()[1], 16) for line in d.output().splitlines() if line.startswith("immortal")]
    equal([thing for thing in objects(d, "--all") if int(thing["address"], 16) in immortal], [], "objects that are not counted")


def test_the_interpreter_is_unharmed(d):
    run_between_the_marks(d)
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
