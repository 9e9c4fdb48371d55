"""break-on-put-to-zero and the handling of rules: filters, list, disable, delete."""

from harness.checks import contains, equal, lacks

BUFFER = "--init buffer_new --get buffer_get --put buffer_put --count refs"


def expect_last_put(d, function, expression=None):
    d.expect_stop(function=function, caller="main")
    if expression:
        equal(d.value("$rdi"), d.value(expression), "object that is put")
        equal(d.value(f"{expression}->refs"), 1, "the counter before the put runs")


def track_both(d):
    d.track_conn()
    d.track(BUFFER)


def test_every_last_put_stops(d):
    track_both(d)
    d.refhist("break-on-put-to-zero")
    d.run()
    expect_last_put(d, "buffer_put")
    d.cont()
    expect_last_put(d, "conn_put", "first")
    screen = d.cont()
    expect_last_put(d, "conn_put", "subject")
    contains(screen, f"{d.value('subject'):#x}", "the line that says why")
    contains(screen, "zero", "the line that says why")
    d.cont()
    d.expect_exit(3)


def test_what_is_said_is_true_before_the_put_runs(d):
    track_both(d)
    d.refhist("break-on-put-to-zero --family conn")
    d.run()
    expect_last_put(d, "conn_put", "first")
    head = d.refhist("first").splitlines()[0]
    died = d.object("first")["died"]
    contains(head, f"no reference is left after #{died['seq']}", "the first line of the history")
    lacks(head, "dead", "the first line of the history")


def test_one_family(d):
    track_both(d)
    d.refhist("break-on-put-to-zero --family buffer")
    d.run()
    expect_last_put(d, "buffer_put")
    d.cont()
    d.expect_exit(3)


def test_one_object(d):
    track_both(d)
    d.break_at("checkpoint")
    d.run()
    d.refhist("break-on-put-to-zero --object subject")
    d.cont()
    expect_last_put(d, "conn_put", "subject")
    d.cont()
    d.expect_exit(3)


def rule_number(d):
    return d.refhist_json("break-on-put-to-zero list")["rules"][0]["number"]


def test_a_deleted_rule_is_gone(d):
    track_both(d)
    d.refhist("break-on-put-to-zero")
    equal(len(d.refhist_json("break-on-put-to-zero list")["rules"]), 1, "rules")
    d.refhist(f"break-on-put-to-zero delete {rule_number(d)}")
    equal(d.refhist_json("break-on-put-to-zero list")["rules"], [], "rules")
    d.run()
    d.expect_exit(3)


def test_a_disabled_rule_rests(d):
    track_both(d)
    d.refhist("break-on-put-to-zero")
    number = rule_number(d)
    d.refhist(f"break-on-put-to-zero disable {number}")
    d.run()
    d.expect_exit(3)
    d.refhist(f"break-on-put-to-zero enable {number}")
    d.run()
    expect_last_put(d, "buffer_put")


def test_short_name_in_gdb(d):
    track_both(d)
    if d.name == "gdb":
        d.command("break-on-put-to-zero --family conn")
    else:
        d.command("refhist break-on-put-to-zero --family conn")
    d.run()
    expect_last_put(d, "conn_put", "first")
