"""A pipeline of Debian's GStreamer with an element in C that loses references: its buffers, event for event as it counts them."""

from harness.checks import contains, equal
from harness.shapes import functions, objects


def by_element(things, role, function):
    return sum(1 for thing in things for event in thing["events"] if event["role"] == role and function in functions(event)[:3])


def test_the_element_and_what_it_loses(d):
    """What is lost is listed with what is reachable: it lies in slices of GLib, where neighbours still hold its address."""
    d.track("GstMiniObject")
    d.run()
    d.expect_exit()
    every = objects(d, "--all")
    equal(by_element(every, "get", "keeper_chain"), d.printed("gets"), "gets of the element")
    equal(by_element(every, "put", "drop"), d.printed("puts"), "puts of the element")
    equal((d.printed("buffers"), d.printed("lost")), (20, 4), "buffers")
    lost = [group for group in d.refhist_json("leaks --reachable")["leaks"]
            if any("keeper_chain" in functions(event) for event in group["references"])]
    equal(sum(len(group["objects"]) for group in lost), d.printed("lost"), "lost buffers")
    equal({thing["dynamic_type"] for group in lost for thing in group["objects"]}, {"GstBuffer"}, "what they are")
    contains(d.refhist("leaks --reachable"), "GstMiniObject (GstBuffer) ", "headings")
    contains(d.refhist("leaks --reachable"), "<- keeper_chain (gstreamer_element.c:", "who took the reference")
