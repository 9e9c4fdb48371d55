"""Which reference a put too many had not, as second runs show it: who holds the object at each of its gets and puts, and what stored the pointers."""

import json
import os

from harness.checks import check, contains, equal
from harness.machine import watchpoints_trigger
from harness.shapes import only

ITEM = "--name item --init item_new --get item_get --put item_put --type 'struct item' --count refs"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "over_put.c")


def line_over(way):
    with open(SOURCE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if f"OVER {way} " in line)


def findings(d):
    return [finding for finding in d.refhist_json("check --stay")["findings"] if finding["verdict"] in ("over-put", "use-after-free")]


def explanation(d, way):
    d.track(ITEM)
    d.run(way)
    d.expect_exit(0)
    return only(d.refhist_json("explain")["explanations"], "explanations")


def confirmed(d, way, what, function):
    told = explanation(d, way)
    equal(told["why_not"], "", "why nothing is confirmed")
    place = told["confirmed"]
    equal((place["what"], place["function"], place["line"]), (what, function, line_over(way)), "place")
    suspect = findings(d)[0]["suspects"][0]
    equal((suspect["confidence"], suspect["line"], suspect["what"]), ("confirmed", line_over(way), what), "first suspect")
    return told


def without(told):
    return only([one for one in told["references"] if not one["taken"]], "references that nothing had taken")


def test_stored_without_a_reference(d):
    if not watchpoints_trigger():
        contains(explanation(d, "urgent")["why_not"], "was not seen", "why nothing is confirmed")
        return
    told = confirmed(d, "urgent", "missing get", "push_urgent")
    contains(without(told)["stored"], "stored in push_urgent", "what stored it")
    contains(without(told)["given_back"], "put in deliver", "what gave it back")
    contains(d.refhist("explain"), "without a reference\n", "for the user")


def test_put_of_what_is_the_callers(d):
    told = confirmed(d, "refused", "extra put", "box_fill")
    equal(without(told)["stored"], "", "what stored it")
    contains(without(told)["given_back"], "put in box_fill", "the put")


def test_pointer_that_stays_behind(d):
    told = confirmed(d, "stays", "extra put", "detach")
    contains(told["confirmed"]["why"], "stayed in heap block", "why")
    contains(told["confirmed"]["why"], "the put in mount_close", "the second put")


def test_word_that_is_cleared_before_the_put(d):
    if watchpoints_trigger():
        confirmed(d, "passes", "missing get", "copy")
    else:
        contains(explanation(d, "passes")["why_not"], "was not seen", "why nothing is confirmed")


def test_either_of_two(d):
    told = explanation(d, "twice")
    equal(told["confirmed"], None, "what is confirmed")
    check(told["why_not"], "nothing says why")
    check(findings(d)[0]["suspects"][0]["confidence"] != "confirmed", "a suspect is confirmed")


def events_of_object(d):
    """Of the one that was put too often; others may have had its memory since."""
    d.track(ITEM)
    d.run("urgent")
    d.expect_exit(0)
    put_too_often = findings(d)[0]["object"]
    return d.object(put_too_often["address"], f"--generation {put_too_often['generation']}")["events"]


def followed(d, order):
    """The order stays, and writes its file in each run."""
    path = os.path.join(d.case.scratch, f"{len(os.listdir(d.case.scratch))}.json")
    d.refhist(f"follow {order} --save {path}")
    d.run("urgent")
    d.expect_exit(0)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def test_holders(d):
    last = [event for event in events_of_object(d) if event["role"] == "put"][-2]
    way = followed(d, f"#{last['seq']} --holders")
    equal(way["why_not"], "", "why nothing was seen")
    check(way["holders"], "nothing holds it")
    equal(way["steps"][0]["function"], "item_put", "innermost frame")


def test_stored(d):
    if not watchpoints_trigger():
        return
    events = events_of_object(d)
    last = [event for event in events if event["role"] == "put"][-2]
    holders = [one for one in followed(d, f"#{last['seq']} --holders")["holders"] if one["where"].startswith("heap")]
    check(holders, "nothing in the heap holds it")
    born = next(event["seq"] for event in events if event["role"] == "init")
    stores = {followed(d, f"#{born} --stored {holder['at']:#x}")["steps"][0]["function"] for holder in holders}
    check("push_urgent" in stores, f"{stores} stored it")


def test_refused(d):
    born = events_of_object(d)[0]["seq"]
    contains(d.refhist_error(f"follow #{born} --holders --lost"), "exclude each other", "two ways")
    contains(d.refhist_error(f"follow #{born} --stored nowhere"), "nowhere", "no address")
    contains(d.refhist_error(f"follow #{born} --holders --through 0x10-0x20"), "--through needs --lost", "a block")
