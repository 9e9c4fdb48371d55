"""Without symbols but exported names, and without debug information: the counter is given by its offset."""

from harness.checks import equal, matches
from harness.shapes import counts, objects, roles

PROBES = "--init conn_new --get conn_get --put conn_put --free conn_free"


def test_count_by_offset(d):
    d.track(f"{PROBES} --count-offset 4")
    d.run()
    d.expect_exit(0)
    (only,) = objects(d, "--all")
    equal([r for r in roles(only) if r != "free"], ["init", "get", "get", "put", "put", "put"], "roles")
    changes = [c for c, r in zip(counts(only), roles(only)) if r != "free"]
    equal([after for _, after in changes], [1, 2, 3, 2, 1, 0], "counts")


def test_member_without_debug_information(d):
    """Said in one line, at once or when the module is there; the events are recorded all the same."""
    answer = d.execute(f"refhist track {PROBES} --count refs")
    d.run()
    d.expect_exit(0)
    matches(answer["text"] + d.refhist("status"), "(?i)debug info|offset", "what is said about the counter")


def test_leak_is_found_without_a_counter(d):
    d.track(PROBES)
    d.refhist("break-on-put-to-zero")
    d.run()
    d.expect_stop(function="conn_put")
    equal(roles(objects(d, "--all")[0]).count("put"), 3, "puts, with the last that is about to run")
