"""keep live, keep suspect and a limit of memory: what is folded is counted, said, and never accused."""

import os

from harness.checks import check, contains, equal, lacks, matches
from harness.shapes import leaks, only

FOLDED = "released cleanly"


def begin(d, *arguments, extra=""):
    d.track_conn(extra)
    d.break_at("checkpoint")
    d.run(*arguments)
    d.expect_stop(function="checkpoint")


def totals(d):
    return d.refhist_json("status")["totals"]


def test_live(d):
    begin(d)
    whole = d.refhist_json("leaks")["leaks"]
    usage = d.refhist_json("usage")["places"]
    d.refhist("snapshot first")
    d.refhist("set keep live")
    kept = totals(d)
    check(kept["folded_objects"] >= 40, f"{kept['folded_objects']} objects folded")
    check(kept["listed_events"] < kept["events"] / 2, "more than half of the events are still listed")
    equal(kept["objects"], 53, "objects in all")
    text = d.refhist("leaks")
    contains(text, f"{kept['folded_objects']} objects {FOLDED}", "leaks")
    contains(text, "(because of set keep)", "leaks")
    contains(d.refhist("status"), "keep: live", "status")
    after = d.refhist_json("leaks")["leaks"]
    equal([(g["verdict"], g["clean_siblings"], g["suspects"], len(g["objects"])) for g in after],
          [(g["verdict"], g["clean_siblings"], g["suspects"], len(g["objects"])) for g in whole],
          "leaks with folded siblings")
    equal([(s["function"], s["what"]) for s in after[0]["suspects"]],
          [("serve", "missing put"), ("close_one", "missing put"), ("open_one", "missing put")], "suspects")
    for before, now in zip(usage, d.refhist_json("usage")["places"]):
        equal([now[key] for key in ("born", "live", "peak", "peak_at", "peak_bytes")],
              [before[key] for key in ("born", "live", "peak", "peak_at", "peak_bytes")], "usage")
    d.cont()
    d.refhist("set keep all")
    d.refhist("set keep live")
    grown = [place for place in d.refhist_json("diff first")["places"] if place["function"] == "open_one"]
    equal(only(grown, "places")["live"], [2, 4], "objects that lived at the snapshot and now")
    equal(totals(d)["objects"], 105, "objects in all")


def test_addresses_of_folded_objects(d):
    begin(d)
    d.cont()
    d.refhist("set keep live")
    dead = [thing for thing in d.refhist_json("objects --all")["objects"] if thing["state"] == "dead"]
    generation = dead[0]["generation"]
    check(generation > 20, f"generation {generation}")
    contains(d.refhist(dead[0]["address"]), f"{generation - 1} objects that lived at this address before", "history")
    contains(d.refhist_error(f"{dead[0]['address']} --generation 1"), "summarized by birthplace", "generation 1")


def test_suspect(d):
    begin(d)
    d.cont()
    shared = d.value("shared")
    before = d.object("shared")
    balance = d.refhist_json(f"balance {shared}")["tree"]
    d.refhist("set keep suspect")
    after = d.object("shared")
    folded = after["folded"]
    equal(len(after["events"]) + folded["events"], len(before["events"]), "events, listed and counted")
    check(folded["events"] > 20, f"{folded['events']} events counted only")
    equal(sorted((p["role"], p["function"]) for p in folded["by_place"]), [("get", "use"), ("put", "use")],
          "places of the events that are counted only")
    equal(after["events"][0], before["events"][0], "the first event")
    equal(after["count"], before["count"], "the count")
    equal(d.refhist_json(f"balance {shared}")["tree"], balance, "balance")
    text = d.refhist(f"{shared}")
    contains(text, f"... {folded['events']} events between", "history")
    contains(text, "put in use (folding.c", "history")
    early = d.object("shared", options=f"--at {folded['last'] - 1}")
    equal(early["count"], None, "the count among events that are not listed")


def test_more_events_than_are_listed(d):
    begin(d)
    whole = d.object("shared")
    seqs = [event["seq"] for event in whole["events"]]
    check(len(seqs) > 20 and "events_not_listed" not in whole, "all events of 10,000 at most are listed")
    some = d.object("shared", "--events 5")
    equal([event["seq"] for event in some["events"]], seqs[:2] + seqs[-3:], "listed")
    others = some["events_not_listed"]
    equal((others["events"], others["first"], others["last"]), (len(seqs) - 5, seqs[2], seqs[-4]), "not listed")
    equal(sum(place["times"] for place in others["by_place"]), len(seqs) - 5, "by place")
    lines = d.refhist("shared --events 5").splitlines()
    gap = next(i for i, line in enumerate(lines) if "not listed (--events all)" in line)
    contains(lines[gap], f"... {len(seqs) - 5} events between #{seqs[2]} and #{seqs[-4]} not listed", "text")
    matches(lines[gap - 1], f"#{seqs[1]} ", "the event before")
    contains("\n".join(lines[gap + 1:gap + 3]), "get in use (folding.c", "places")
    matches(lines[gap + 3], f"#{seqs[-3]} ", "the event behind")
    equal(d.refhist("shared --events all"), d.refhist("shared"), "all")
    then = d.object("shared", f"--events 2 --at {seqs[6]}")
    equal([event["seq"] for event in then["events"]], [seqs[0], seqs[6]], "listed of an earlier moment")
    contains(d.refhist_error("shared --events some"), "--events needs a whole number, not some", "error")
    contains(d.refhist_error("shared --events -1"), "--events must be a number of events or all", "error")


def test_mistakes_after_folding(d):
    """An object that was released stays whole until another one has its address."""
    d.track("malloc")
    begin(d, extra="--keep live")
    for _ in range(4):
        d.cont()
        d.refhist("set keep all")
        d.refhist("set keep live")
    d.cont()
    text = d.refhist("last")
    contains(text, "use-after-free", "history")
    contains(text, "twice (folding.c", "history")
    equal([event["role"] for event in d.object("last")["events"]][-2:], ["free", "put"], "the last events")


def test_leaks_at_the_end(d):
    begin(d, extra="--keep suspect --memory 1G")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit()
    found = [g for g in leaks(d) if g["verdict"] == "leak"]
    equal([(len(g["objects"]), g["suspects"][1]["function"]) for g in found], 2 * [(4, "close_one")], "leaks")


def test_saved(d):
    begin(d)
    d.cont()
    d.refhist("set keep suspect")
    questions = ("leaks --json", "usage --json", "objects --all --json", "shared")
    shared = hex(d.value("shared"))
    d.kill()
    before = {q: d.refhist(q.replace("shared", shared)) for q in questions}
    path = os.path.join(d.case.scratch, "folded.rh")
    d.refhist(f"save {path}")
    d.refhist(f"open {path}")
    for question, text in before.items():
        equal(d.refhist(question.replace("shared", shared)), text, f"{question} of the file")
    again = path + ".again"
    d.refhist(f"save {again}")
    d.refhist(f"open {again}")
    for question, text in before.items():
        equal(d.refhist(question.replace("shared", shared)), text, f"{question} of the file of the file")


def test_limit(d):
    """In the agent alone: by breakpoints so many events would take a minute."""
    if d.backend == "breakpoint":
        return
    begin(d, "200000", extra="--memory 8M")
    d.cont()
    status = d.refhist_json("status")
    check(status["totals"]["events"] > 2_000_000, f"{status['totals']['events']} events")
    check(status["memory_bytes"] < 12 << 20, f"{status['memory_bytes']} bytes of memory")
    check(status["totals"]["folded_objects"] > 100_000, f"{status['totals']['folded_objects']} objects folded")
    contains(d.refhist("status"), "because of the limit of 8.0 MiB", "status")
    found = [g for g in leaks(d) if g["verdict"] == "leak"]
    equal([(len(g["objects"]), g["suspects"][1]["function"]) for g in found], 2 * [(2, "close_one")], "leaks")
    check(found[0]["clean_siblings"] > 300_000, f"{found[0]['clean_siblings']} siblings")
    d.refhist("set memory off")


def test_values_that_mean_nothing(d):
    contains(d.refhist_error("set keep some"), "keep must be all or live or suspect, not some", "keep")
    contains(d.refhist_error("set memory 10"), "a size of 1M or more", "memory")
    contains(d.refhist_error("set memory many"), "off or a size", "memory")
    contains(d.refhist_error("track --keep nothing"), "keep must be all", "track")
    lacks(d.refhist("status"), "keep:", "status")
