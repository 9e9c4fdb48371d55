"""The same from the agent as by breakpoints: each program runs with the one and then with the other, and objects, events,
counts, stacks and leaks must be alike. The programs here do the same in every run."""

from harness.checks import check, equal
from harness.shapes import leaks, objects

CONN = "--init conn_new --get conn_get --put conn_put --free conn_free --count refs"
PROGRAMS = {  # what is followed
    "events_O0": CONN,
    "events_O2": CONN,
    "events_nopie": CONN,
    "siblings_O1": CONN,
    "count_rules_O1": CONN,
    "stale_stack_O1": CONN,
    "after_function_O1": CONN,
    "leak_at_end_O1": CONN,
    "recursion_O1": "--init chain_new --get conn_get --put conn_put --free conn_free --count refs",
    "tail_calls_O2": "--init conn_new* --get conn_get --put conn_put --free conn_free --count refs",
    "longjmp_O0": "--init conn_open --get conn_get --put conn_put --free conn_free --count refs",
    "longjmp_O2": "--init conn_open --get conn_get --put conn_put --free conn_free --count refs",
    "exceptions_O1": "--init 'net::Link::open(char const*)' --get net::Link::ref --put net::Link::unref --count refs",
    "json_client": "json_object",
    "glib_types": "GBytes GVariant GHashTable GArray GPtrArray GDateTime GKeyFile GTree GMainLoop GSource",
    "gstreamer_types": "GstMiniObject GstAtomicQueue GObject",
    "dbus_types": "DBusMessage DBusServer DBusConnection",
    "openssl_types": "EVP_PKEY X509 X509_CRL X509_STORE BIO SSL_CTX SSL_SESSION",
    "system_types": "udev udev_enumerate kmod_ctx kmod_module sd_event",
}
OBJECTS = {"json_client": ""}  # 1,260 with a stack each for 5,856 events are too much text: those that are left
KEPT = ("family", "state", "count", "size", "complete", "generation")
FRAME = ("function", "file", "line", "inlined")


def event_of(event):
    stack = [tuple(frame[key] for key in FRAME) for frame in event["stack"]]
    return (event["role"], event["site"], event["count_before"], event["count_after"], event["count_after_is"],
            event.get("failed", False), event["truncated"], stack)


def answers(d, backend):
    """Everything that the history holds after a run, without numbers that differ from run to run."""
    d.backend = backend
    d.refhist(f"set backend {backend}")
    d.track(PROGRAMS[d.variant])
    d.run()
    check(d.state()["state"] == "exited", f"the program has not ended: {d.state()}")
    things = [({key: thing[key] for key in KEPT}, [event_of(event) for event in thing["events"]])
              for thing in objects(d, OBJECTS.get(d.variant, "--all"))]
    groups = [(g["verdict"], g["family"], g["reach"], len(g["objects"]), g["why"],
               [(s["function"], s["what"], s["why"]) for s in g["suspects"]]) for g in leaks(d)]
    sites = [site for site in d.refhist_json("status")["sites"] if site["backend"]]
    d.refhist("untrack --all")
    return things, groups, sites


def test_agent_and_breakpoints(d):
    by_breakpoint, leaked, _ = answers(d, "breakpoint")
    in_agent, leaked_there, sites = answers(d, "auto")
    check(by_breakpoint, "nothing was recorded")
    for number, (one, other) in enumerate(zip(by_breakpoint, in_agent)):
        equal(other[0], one[0], f"object {number}")
        for place, (mine, theirs) in enumerate(zip(one[1], other[1])):
            equal(theirs, mine, f"event {place} of object {number}, {one[0]}")
        equal(len(other[1]), len(one[1]), f"events of object {number}, {one[0]}")
    equal(len(in_agent), len(by_breakpoint), "objects")
    equal(leaked_there, leaked, "leaks")
    there = sum(site["backend"] == "agent" for site in sites)
    check(there >= 0.9 * len(sites), f"{there} of {len(sites)} sites in the agent: "
          f"{[(s['probe'], s['why_breakpoint']) for s in sites if s['backend'] != 'agent']}")
