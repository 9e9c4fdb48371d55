"""A signal that arrives while a thread stands at one of our breakpoints does not make one call two events."""

from harness.checks import equal
from harness.shapes import roles


def test_each_call_is_one_event(d):
    for name in ("SIGALRM", "SIGCHLD"):
        d.pass_signal(name)
    d.track_conn()
    d.break_at("checkpoint")
    d.run()
    d.expect_stop(function="checkpoint")
    subject = d.object("subject")
    equal((roles(subject).count("get"), roles(subject).count("put")), (200, 200), "gets and puts")
    equal(roles(subject).count("unobserved"), 0, "unobserved changes")
    d.cont()
    d.expect_exit(0)
