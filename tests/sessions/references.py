"""Each reference of an object from where it was taken and kept to where it was given back."""

import re

from harness.checks import contains, equal, matches
from harness.shapes import leaks, only

ITEM = "--name item --init item_new --get item_get --put item_put --type 'struct item' --count refs"
# Function that took it, where it is kept, function that gave it back, where that has it from.
CLEAN = [
    ("serve", "", "serve", ""),
    ("keep_reply", "peer->reply", "peer_close", "peer->reply"),
    ("keep_slot", "peer->slots[]", "peer_close", None),  # the compiler may have unrolled the loop
    ("keep_last", "last", "serve", "last"),
    ("use", "", "use", ""),
]


def lost(d):
    """The address of the object that is lost, at the program's end."""
    d.track(ITEM)
    d.refhist("break-on-leak")
    d.run()
    d.expect_stop()
    return only(only(leaks(d), "leaks")["objects"], "objects")["address"]


def references(d, address, options=""):
    """As CLEAN has them; a reference that was not given back has None there."""
    told = d.object(address, f"--references {options}".strip())
    owners = {event["seq"]: [frame["function"] for frame in event["stack"]] for event in told["events"]}

    def owner(seq):
        return next(name for name in owners[seq] if not name.startswith("item_"))

    found = []
    for one in told["references"]["all"]:
        given_back = one["given_back"]
        found.append((owner(one["taken"]), one["kept_in"], None if given_back is None else owner(given_back),
                      None if given_back is None else one["given_back_from"]))
    return found, told["references"]


def without_unrolled(found):
    return [(one[0], one[1], one[2], None if one[0] == "keep_slot" else one[3]) for one in found]


def test_clean_object(d):
    address = lost(d)
    found, told = references(d, address, "--generation 2")
    equal(without_unrolled(found), CLEAN, "references")
    equal((told["puts_without_one"], told["given_back_at_once"], told["learned_from"]), ([], 0, 7), "beside them")


def test_lost_reference(d):
    address = lost(d)
    found, _ = references(d, address)
    equal(found, [one if one[0] != "keep_slot" else ("keep_slot", "peer->slots[]", None, None) for one in CLEAN], "references")
    text = d.refhist(f"{address} --references")
    contains(text, "5 references, 1 not given back", "report")
    matches(text, r"item_get <- keep_slot \(references\.c:\d+\), kept in peer->slots\[\]\n      not given back\n")
    matches(text, r"item_get <- keep_reply \(.*\), kept in peer->reply\n      given back: #\d+ item_put <- peer_close \(.*\), from peer->reply\n")
    contains(text, "learned from 7 objects that were released cleanly", "report")


def test_places_in_the_history(d):
    address = lost(d)
    text = d.refhist(address)
    matches(text, r"item_get <- keep_last \(references\.c:\d+\), kept in last\n")
    matches(text, r"item_put <- serve \(references\.c:\d+\), from last\n")
    equal(len(re.findall(", kept in ", text)), 3, "places")


def test_wrong_words(d):
    address = lost(d)
    contains(d.refhist_error(f"{address} --references --at 1"), "--references covers the full history", "error")
