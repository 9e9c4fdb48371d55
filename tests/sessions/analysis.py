"""snapshot and diff, balance, usage, owners, and an object as it stood earlier."""

from harness.checks import check, contains, equal, lacks, matches
from harness.shapes import only


def rounds(d, count, snapshots=True):
    """Runs that many rounds, with a snapshot behind each."""
    for _ in range(count):
        d.cont()
        if snapshots:
            d.refhist("snapshot")


def begin(d):
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    d.expect_stop(function="checkpoint")


def place_of(places, function):
    return only([place for place in places if place["function"] == function], f"places in {function}")


def test_diff(d):
    begin(d)
    contains(d.refhist("snapshot start"), "snapshot start after", "snapshot")
    rounds(d, 3, snapshots=False)
    told = d.refhist_json("diff")
    kept = place_of(told["places"], "keep")
    equal((kept["live"], len(kept["new"])), ([1, 4], 3), "objects of keep")
    equal(place_of(told["places"], "fill_cache")["live"], [1, 2], "objects of the cache")
    equal([place["function"] for place in told["places"]], ["keep", "fill_cache"], "places: what has grown most is first")
    text = d.refhist("diff")
    contains(text, "+3 conn born in keep (analysis.c:24) by conn_new: 1 -> 4", "diff")
    contains(text, kept["new"][0], "diff")
    lacks(text, "serve", "diff")
    d.refhist("snapshot later")
    rounds(d, 1, snapshots=False)
    equal(place_of(d.refhist_json("diff start later")["places"], "keep")["live"], [1, 4], "between two snapshots")
    equal([s["name"] for s in d.refhist_json("snapshot --list")["snapshots"]], ["start", "later"], "snapshots")
    equal(d.refhist_json("diff --family other*")["places"], [], "places of another family")


def test_older_objects_with_more_references(d):
    begin(d)
    rounds(d, 3)
    d.refhist("snapshot before")
    rounds(d, 3)
    cached = d.value("cache[0]")
    held = only(d.refhist_json("diff before")["more_references"], "older objects with more references")
    equal((int(held["object"], 16), held["before"], held["after"]), (int(cached), 1, 2), "the object")
    contains(d.refhist("diff before"), "existed before and has more references: 1 -> 2", "diff")


def test_growth_in_each_step(d):
    """What only fills up while the program warms up is left out."""
    begin(d)
    d.refhist("snapshot")
    rounds(d, 6)
    told = d.refhist_json("diff --settle 2 --repeat 4")
    equal(only(told["places"], "places that grew")["live"], [3, 4, 5, 6, 7], "objects of keep")
    equal(len(d.refhist_json("diff --repeat 1")["places"]), 2, "places that grew in the first step")
    contains(d.refhist_error("diff --settle 3 --repeat 9"), "13 snapshots needed", "error")
    contains(d.refhist_error("diff --repeat 0"), "1 or more", "error")
    contains(d.refhist_error("diff 3 1"), "3 is later than 1", "error")
    contains(d.refhist_error("diff 33"), "no snapshot 33", "error")
    contains(d.refhist_error("snapshot 3"), "there is already a snapshot 3", "error")
    d.run()
    contains(d.refhist_error("diff"), "no snapshot was taken", "error in a new run")


def test_balance(d):
    begin(d)
    rounds(d, 9, snapshots=False)

    def find(node, function):
        if node["function"] == function:
            return node
        found = [find(call, function) for call in node["calls"]]
        return next((one for one in found if one), None)

    told = d.refhist_json("balance conn --all")
    root = told["tree"]
    equal((told["objects"], root["sum"]), (22, 13), "objects and references outstanding")
    equal(find(root, "keep")["sum"], 10, "what keep takes")
    equal(find(root, "fill_cache")["sum"], 2, "what the cache takes")
    check(find(root, "serve") is None, "serve gives back what it takes, and is left out")
    equal(d.refhist_json("balance conn")["objects"], 12, "objects that live")
    text = d.refhist("balance cache[0]")
    contains(text, "1 object: 2 taken, 0 given back, +2", "balance of one object")
    matches(text, r"\+1 +1 +0 +fill_cache", "balance of one object")
    contains(d.refhist_error("balance"), "refhist balance FAMILY", "error")


def test_usage(d):
    begin(d)
    rounds(d, 9, snapshots=False)
    places = d.refhist_json("usage")["places"]
    keep, serve = place_of(places, "keep"), place_of(places, "serve")
    equal((keep["born"], keep["live"], keep["peak"]), (10, 10, 10), "objects of keep")
    equal((serve["born"], serve["live"], serve["peak"]), (10, 0, 1), "objects of serve")
    over_time = keep["over_time"]
    equal((len(over_time), over_time[-1], over_time), (10, 10, sorted(over_time)), "objects of keep over time")
    contains(d.refhist("usage --top 1"), "born in keep (analysis.c:24) by conn_new", "usage")
    contains(d.refhist("usage --top 1"), "2 places more (--top N)", "usage")


def test_owners(d):
    d.refhist("set allocators auto")
    begin(d)
    rounds(d, 10, snapshots=False)
    owners = only(d.refhist_json("owners held")["owners"], "objects")
    equal(owners["why_not_all"], "", "what may be missing")
    words = owners["words"]
    where = [word["where"] for word in words]
    check(any(text.startswith("held (") for text in where), f"the variable: {where}")
    check(any(text.startswith("table+16 (") for text in where), f"the table: {where}")
    check(any("stack of thread" in text for text in where), f"the stack: {where}")
    frames = [word["frame"] for word in words if "stack of thread" in word["where"]]
    check(any(frame.startswith("frame 1, hold (analysis.c:") for frame in frames), f"the frame of `local`: {frames}")
    block = int(d.value("(unsigned long)holder"))
    found = only([word for word in words if word["word"] and block <= int(word["word"], 16) < block + 24], "words in the block")
    equal(int(found["word"], 16) - block, 8, "place in the block")
    if d.backend == "auto":
        equal(found["block"]["size"], 24, "size of the block")
        contains(found["block"]["obtained_in"], "hold (analysis.c", "where the block was obtained")
    contains(d.refhist("owners held"), "table+16", "owners")
    contains(d.refhist_error("owners"), "usage: refhist owners ADDR|EXPR", "error")


def test_earlier(d):
    begin(d)
    rounds(d, 7, snapshots=False)
    now = d.object("cache[0]")
    equal(now["count"], 2, "count now")
    born, taken = now["events"][-2]["seq"], now["events"][-1]["seq"]
    then = d.object("cache[0]", f"--at {taken - 1}")
    equal((then["count"], then["state"], [e["seq"] for e in then["events"]][-1]), (1, "live", born), "the object before")
    equal(d.object("cache[0]", f"--at {taken}")["count"], 2, "count when it was taken")
    equal(d.object("cache[0]", f"--at {now['events'][0]['seq'] - 1}")["state"], "unborn", "state before its birth")
    contains(d.refhist(f"cache[0] --at {born}"), f"as of #{born}: live, count 1", "text")
    contains(d.refhist_error("cache[0] --at 100000"), "--at must be an event number from 0 to", "error")
