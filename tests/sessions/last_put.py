"""Inlined puts that free their object without storing zero: each put is an event, the last one too, and nobody is accused."""

from harness.checks import equal
from harness.shapes import objects, role_totals, roles

SHAPES = ("plain", "checked", "late", "upper", "sole", "signed_one", "wide", "wide_unsigned", "kept", "stored", "atomic", "slow")


def track(d):
    d.case.left_to_breakpoints = 100  # copies that stand close together
    d.track("malloc")
    for shape in SHAPES:
        d.track(f"--name {shape} --init {shape}_new --get {shape}_get --put {shape}_put --count refs")


def test_every_put(d):
    track(d)
    d.run()
    d.expect_exit(7)
    every = [thing for thing in objects(d, "--all") if thing["family"] in SHAPES]
    totals = role_totals(every)
    expected = [d.printed(name) for name in ("births", "taken", "given")]
    equal([len(every), totals["get"], totals["put"]], expected, "births, gets and puts")
    lives = {thing["family"]: set() for thing in every}
    for thing in every:
        lives[thing["family"]].add(" ".join(roles(thing)))
    expected = {shape: {"alloc init get get put put put free"} for shape in SHAPES}
    expected["atomic"].add("alloc init get put put free")
    equal(lives, expected, "lives")
    equal(d.refhist_json("check --stay")["findings"], [], "findings")


def test_every_last_put_stops(d):
    track(d)
    d.refhist("break-on-put-to-zero")
    d.run()
    stops = 0
    while d.state()["state"] == "stopped":
        stops += 1
        d.cont()
    d.expect_exit(7)
    equal(stops, d.printed("deaths"), "stops")
