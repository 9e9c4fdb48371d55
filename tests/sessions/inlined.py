"""Gets and puts that exist only as inlined copies: each execution is one event, at the instruction that changes the counter."""

from harness.checks import check, contains, equal
from harness.shapes import counts, functions, objects, only, role_totals, roles

CONN = ("--name conn --init conn_init --get conn_get --get conn_get_many --get conn_try --put conn_put --free conn_free "
        "--count refs")
NODE = "--name node --init node_new --get node_get --put node_put --count refs"


def track(d):
    d.track(CONN)
    d.track(NODE)


def of_family(things, family):
    return [thing for thing in things if thing["family"] == family]


def not_armed(d):
    return [s for s in d.refhist_json("status --sites")["sites"] if s["inlined"] and s["why_not"]]


def check_totals(d):
    """What the program has counted until its checkpoint is what the history has."""
    every = objects(d, "--all")
    conns, nodes = role_totals(of_family(every, "conn")), role_totals(of_family(every, "node"))
    equal(conns.get("get", 0), d.printed("gets") + d.printed("tries"), "gets and tries")
    equal(conns.get("put", 0), d.printed("puts"), "puts")
    equal((nodes["get"], nodes["put"]), (d.printed("node_gets"), d.printed("node_puts")), "gets and puts of the node")
    check(not any("unobserved" in roles(thing) for thing in every), "a change was not observed")


def to_last_checkpoint(d, how=""):
    d.break_at("last_put")
    d.run(how)


def test_each_execution_is_one_event(d):
    track(d)
    to_last_checkpoint(d)
    check_totals(d)
    equal(d.object("subject")["count"], d.value("subject->refs"), "count of subject")
    equal(d.object("many")["count"], d.value("many->refs"), "count of many")
    equal(d.object("plain")["count"], d.value("plain->refs"), "count of plain")


def test_discover_proposes_them(d):
    """As they stand: not at -O0, where what an instruction adds lies in memory."""
    text = d.refhist("discover")
    if d.case.variant == "O0":
        return contains(text, "0 families found", "proposals")
    contains(text, "node_get is inlined everywhere", "proposals")
    d.track(f"--probes {d.write_file('found.toml', text)}")
    to_last_checkpoint(d)
    nodes = role_totals(of_family(objects(d, "--all"), "node"))
    equal((nodes["get"], nodes["put"]), (d.printed("node_gets"), d.printed("node_puts")), "gets and puts of the node")
    equal(d.object("subject")["family"], "conn", "family of subject")


def test_frames(d):
    track(d)
    to_last_checkpoint(d)
    first = [event for event in d.object("subject")["events"] if event["role"] == "get"][0]
    equal(functions(first)[:3], ["conn_get", "take", "main"], "the innermost frames")
    check(first["stack"][0]["inlined"] and not first["stack"][1]["inlined"], "which of them is inlined")
    contains(d.refhist("subject"), "<- take (inlined.c:", "the line of the event")


def test_a_static_object(d):
    track(d)
    to_last_checkpoint(d)
    equal(counts(d.object("&fixed")), [(1, 2), (2, 1)], "static")
    fixed = [g for g in d.refhist_json("leaks")["leaks"] if f"{d.value('&fixed'):#x}" in str(g["objects"])]
    check(all(g["reach"] == "reachable" for g in fixed), f"code names it without a pointer: {fixed}")


def test_an_object_inside_another(d):
    """Its counter is at another distance from the register; the debug information tells where the object is. Not at
    -O0, where it tells which memory the pointer is in."""
    track(d)
    to_last_checkpoint(d, "inside")
    if d.case.variant == "O0":
        for site in not_armed(d):
            contains(site["why_not"], "no instruction was found to change the counter", "the reason")
        return
    equal([(site["function"], site["why_not"]) for site in not_armed(d)], [], "copies that are not armed")
    check_totals(d)
    equal(roles(d.object("&holder->inner")), ["init", "get", "put"], "events of the inner object")
    d.cont()
    status, text = d.ending_command("refhist check")
    equal(status, 0, text)


def test_more_than_one_at_a_time(d):
    d.case.left_to_breakpoints = 1  # at -O0 a jump goes behind the instruction
    d.track(CONN)
    to_last_checkpoint(d, "many")
    check((1, 4) in counts(d.object("many")), f"three references at once: {counts(d.object('many'))}")


def test_threads(d):
    track(d)
    to_last_checkpoint(d, "threads")
    if d.name == "lldb" and d.backend == "breakpoint":
        contains(d.refhist("status"), "not exact with several threads", "status")
        return
    check_totals(d)
    equal(d.object("many")["count"], 1, "count")


def test_the_whole_run_finds_nothing(d):
    track(d)
    d.refhist("break-on-imbalance")
    d.run()
    d.expect_exit(2)
    status, text = d.ending_command("refhist check")
    equal(status, 0, text)


def test_a_leak(d):
    track(d)
    d.refhist("break-on-leak --family conn")
    contains(d.run("leak"), "leak", "the line that says why")
    d.expect_stop()
    group = only([g for g in d.refhist_json("leaks")["leaks"] if g["reach"] == "unreachable"], "leaks")
    check(any("take" in functions(event) for event in group["references"]), "no reference is from take")


def test_put_to_zero_stops_before_the_put(d):
    d.track(CONN)
    d.refhist("break-on-put-to-zero")
    contains(d.run(), "put to zero", "the line that says why")
    equal(d.value("c->refs"), 1, "the counter when the program stands there")
    contains(d.refhist("status --sites"), "conn_put inlined in last_put", "status")


def test_a_failed_try_is_no_event(d):
    d.track(CONN)
    d.run("dead")
    d.expect_exit(3)
    (dead,) = [thing for thing in objects(d, "--all") if thing["born"] is None]
    equal(roles(dead)[-2:], ["put", "free"], "the last events")


def test_left_out(d):
    d.track(f"{CONN} --exclude take")
    to_last_checkpoint(d)
    check("take" not in [f for event in d.object("subject")["events"] for f in functions(event)[:2]], "take was left out")
