"""Shipped families on Debian's own libraries: the programs of libraries/ print what they do to their objects, and refhist must have recorded
exactly that, with counts that it read from the library's counters."""

from harness.checks import check, equal
from harness.shapes import counts, objects, roles

FAMILIES = {
    "glib": "GBytes GVariant GHashTable GArray GPtrArray GDateTime GKeyFile GTree GMainLoop GSource g_rc_box g_atomic_rc_box",
    "gstreamer": "GstMiniObject GstAtomicQueue",
    "dbus": "DBusMessage DBusServer DBusConnection",
    "openssl": "EVP_PKEY X509 X509_CRL X509_STORE BIO SSL_CTX SSL_SESSION",
    "system": "udev udev_enumerate kmod_ctx kmod_module sd_event",
}
# The library itself takes references to these for a while and gives them back.
ALSO_COUNTED_BY_THE_LIBRARY = {"DBusServer", "DBusConnection"}
BORN_AT_AN_ENTRY = {"GstMiniObject"}  # the initialiser gets the object as an argument: no need to watch its return

# g_array_sized_new: data that looks like a pointer into it; X509_new and X509_CRL_new: a chain of jumps.
LEFT_TO_BREAKPOINTS = 2


def told_by_the_program(d):
    """(family, address) -> the lives at that address, each a list of roles."""
    lives = {}
    for line in d.output().splitlines():
        role, family, address = line.split()
        known = lives.setdefault((family, int(address, 16)), [])
        if role == "init" or not known:
            known.append([])
        known[-1].append(role)
    check(lives, f"the program told nothing: {d.output()}")
    return lives


def recorded(d, expected):
    """The same of what refhist recorded, as objects."""
    lives = {}
    for thing in sorted(objects(d, "--all"), key=lambda thing: thing["generation"]):
        key = (thing["family"], int(thing["address"], 16))
        if key in expected:
            lives.setdefault(key, []).append(thing)
    return lives


def outstanding(told):
    return sum({"init": 1, "get": 1, "put": -1}[role] for role in told)


def check_counts(thing, what):
    """Each event changes by one what the event before it left, as the library's own counter says."""
    check("unobserved" not in roles(thing), f"unobserved changes of {what}: {roles(thing)}")
    count = counts(thing)[0][0]
    for event in thing["events"]:
        before, after = event["count_before"], event["count_after"]
        watched = event["role"] == "init" and thing["family"] not in BORN_AT_AN_ENTRY
        equal(event["count_after_is"], "read" if watched else "derived", f"source of the count of {what} at {event['seq']}")
        if event["role"] == "init":
            equal(after, 1, f"count at the birth of {what}")
        else:
            equal((before, after), (count, count + (1 if event["role"] == "get" else -1)), f"counts of {what} at {event['seq']}")
        count = after


def compare(d, told, thing, family):
    what = f"{family} {thing['address']} (generation {thing['generation']})"
    if family in ALSO_COUNTED_BY_THE_LIBRARY:
        rest = iter(roles(thing))
        check(all(role in rest for role in told), f"events of {what}: {roles(thing)} lack some of {told}")
    else:
        equal(roles(thing), told, f"events of {what}")
    check_counts(thing, what)
    equal(thing["complete"], True, f"completeness of {what}")
    left = outstanding(told)
    equal((thing["state"], thing["count"] if left else 0), ("live" if left else "dead", left), f"end of {what}")


def test_what_the_program_did_is_what_was_recorded(d):
    d.track(FAMILIES[d.variant])
    d.break_at("checkpoint")
    d.run()
    d.expect_stop(function="checkpoint")
    expected = told_by_the_program(d)
    found = recorded(d, expected)
    equal(sorted(found), sorted(expected), "objects")
    equal({family for family, _ in expected}, set(FAMILIES[d.variant].split()), "families")
    for (family, address), lives in expected.items():
        # The library may have had an object of its own at the address before.
        things = found[family, address][-len(lives):]
        equal(len(things), len(lives), f"lives of {family} {address:#x}")
        for told, thing in zip(lives, things):
            compare(d, told, thing, family)


def test_what_is_kept_is_what_is_left(d):
    """After the end the ledger has the references that the program says it kept."""
    d.track(FAMILIES[d.variant])
    d.run()
    d.expect_exit(0)
    expected = told_by_the_program(d)
    found = recorded(d, expected)
    for (family, address), lives in expected.items():
        thing = found[family, address][-1]
        equal(thing["count"] if thing["state"] == "live" else 0, outstanding(lives[-1]), f"what is left of {family} {address:#x}")
