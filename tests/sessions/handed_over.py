"""The call that takes a reference over and is given none, and the path on which a reference is forgotten."""

from harness.checks import check, contains, equal
from harness.shapes import check_findings, source_line

NOTE = "--name note --init note_new --get note_get --put note_put --type 'struct note' --count refs"


def run(d, *way):
    d.refhist("set allocators auto")
    d.track("malloc")
    d.track("GObject")
    d.track(NOTE)
    d.run(*way)


def place(d, way, what):
    run(d, way)  # to its end, or to where it uses what it has freed
    status, found = check_findings(d)
    equal(status, 23, "exit status")
    # The code has all of these mistakes, in whatever way it runs.
    first = found[0]["suspects"][:4]
    suspect = next((one for one in first if f"// {way}" in source_line(one)), None)
    check(suspect is not None, f"no suspect is the line: {first}")
    equal(suspect["what"], what, "kind of the suspect")
    return suspect["why"]


def test_right(d):
    run(d)
    d.expect_exit()
    equal(check_findings(d), (0, []), "exit status and findings")


def test_with_what_destroys_it(d):
    contains(place(d, "destroyed", "missing get"), "tag passes the object to g_object_set_data_full, which takes a reference over, and has none for it", "why")


def test_into_a_container(d):
    contains(place(d, "contained", "missing get"), "shelf_first passes the object to g_ptr_array_insert, which takes a reference over", "why")


def test_by_name(d):
    contains(place(d, "taken", "missing get"), "label_value passes the object to g_value_take_object, which takes a reference over", "why")


def test_a_path_that_forgets(d):
    contains(place(d, "forgotten", "missing put"), "box_file gives back the reference that it is given, or passes it on; this path does neither", "why")


def test_a_variable_in_a_loop(d):
    contains(place(d, "replaced", "overwritten"), "the variable that has the reference from line", "why")
