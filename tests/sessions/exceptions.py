"""C++: names as users write them, and probed calls that end by an exception."""

from harness.checks import check, equal
from harness.shapes import functions, objects, roles

TRACK = "--init net::Link::open --get net::Link::ref --put net::Link::unref --count refs"


def test_only_calls_that_return_give_birth(d):
    d.track(TRACK)
    d.break_at("checkpoint")
    d.run()
    live = {int(o["address"], 16): o for o in objects(d)}
    equal(sorted(live), sorted(d.value(f"made[{i}]") for i in (1, 3, 4)), "objects")
    equal(roles(live[d.value("made[1]")]), ["init"], "roles")
    equal(roles(live[d.value("made[4]")]), ["init", "get"], "roles")
    d.cont()
    d.expect_exit(0)
    equal({o["state"] for o in objects(d, "--all")}, {"dead"}, "states")


def test_one_overload(d):
    d.track("--init 'net::Link::open(char const*)' --get net::Link::ref --put net::Link::unref --count refs")
    d.break_at("checkpoint")
    d.run()
    equal([int(o["address"], 16) for o in objects(d)], [d.value("made[4]")], "objects")


def test_frames_have_demangled_names(d):
    d.track(TRACK)
    d.break_at("checkpoint")
    d.run()
    get = d.object("made[4]")["events"][1]
    check(any("net::Holder<net::Link>::take" in name for name in functions(get)), f"frames {functions(get)}")
