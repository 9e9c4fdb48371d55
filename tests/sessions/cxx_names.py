"""C++ names: every overload by the plain name, one by its parameters, globs, a counter in a base class."""

from harness.checks import contains, equal
from harness.shapes import counts, roles

FAMILY = "--init net::Conn::open --put net::Conn::release --count refs"


def test_every_overload(d):
    d.track(f"{FAMILY} --get net::Conn::retain")
    d.break_at("checkpoint")
    d.run()
    subject = d.object("subject")
    equal(roles(subject), ["init", "get", "get", "get"], "roles")
    equal(counts(subject)[1:], [(1, 2), (2, 3), (3, 4)], "counts")


def test_one_overload(d):
    d.track(f"{FAMILY} --get 'net::Conn::retain()'")
    d.break_at("checkpoint")
    d.run()
    equal(roles(d.object("subject")).count("get"), 1, "gets")


def test_glob_and_clean_end(d):
    d.track("--init 'net::*::open' --get 'net::*::retain' --put 'net::*::release' --count refs")
    d.run()
    d.expect_exit(0)
    contains(d.refhist("leaks"), "nothing is leaked", "leaks")


def test_misspelt_method(d):
    contains(d.refhist_error(f"track {FAMILY} --get net::Conn::retian"), "net::Conn::retain", "suggestion")
