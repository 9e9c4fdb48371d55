"""Libraries in namespaces of their own: the program runs as without us, and what the debugger shows of it is recorded."""

from harness.checks import contains, equal
from harness.shapes import objects, roles


def test_namespaces(d):
    d.refhist("set allocators auto")
    d.track("json_object")
    screen = d.run()
    d.expect_exit(5)
    equal(d.printed("closed"), 3, "rounds")
    things = objects(d, "--all")
    for thing in things:
        equal([r for r in roles(thing) if r not in ("alloc", "free")], ["init", "get", "put", "put"], "roles")
    if d.name == "gdb":  # it loses the dynamic linker with the first namespace, and that is said
        contains(screen, "libraries loaded from now on may be missed", "the screen")
        equal(len(things), 20, "objects of the first round")
    else:
        equal(len(things), 60, "objects")
