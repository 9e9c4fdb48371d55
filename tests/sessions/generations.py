"""An address that is used again is a new object; two lives never share a history."""

from harness.checks import equal, matches
from harness.shapes import objects, roles

TRACK = "--init slot_new --get slot_get --put slot_put --count refs"


def test_lives_are_kept_apart(d):
    d.track(TRACK)
    d.break_at("checkpoint")
    d.run()
    third = d.object("subject")
    equal((third["generation"], third["state"], roles(third)), (3, "live", ["init", "get"]), "the newest")
    first = d.object("subject", "--generation 1")
    equal((first["generation"], first["state"], roles(first)), (1, "dead", ["init", "put"]), "the first")
    second = d.object("subject", "--generation 2")
    equal(roles(second), ["init", "get", "get", "put", "put", "put"], "the second")
    every = objects(d, "--all")
    equal(sorted(o["generation"] for o in every), [1, 2, 3], "generations")


def test_text_names_the_generation(d):
    d.track(TRACK)
    d.break_at("checkpoint")
    d.run()
    matches(d.refhist("subject"), r"(?i)generation 3|#3", "history")


def test_a_generation_that_never_was(d):
    d.track(TRACK)
    d.break_at("checkpoint")
    d.run()
    matches(d.refhist_error("subject --generation 9"), "9", "error")
