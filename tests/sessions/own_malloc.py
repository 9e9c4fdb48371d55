"""A program with its own allocator linked into it (jemalloc): every object has its birth, size and death."""

from harness.checks import agent_only, contains, equal, matches
from harness.shapes import objects, roles

ITEM = "--init item_new --get item_get --put item_put --count refs"


@agent_only("no allocator is followed by breakpoints unless it is named")
def test_every_object_has_birth_size_and_death(d):
    d.refhist("set allocators auto")
    d.track(ITEM)
    d.break_at("checkpoint")
    d.run()
    lives = objects(d, "--all")[:4]
    equal(roles(lives[0]), ["alloc", "init", "get", "put", "put", "free"], "roles")
    equal([o["size"] for o in lives], [48, 96, 48, 64], "sizes")
    contains(d.refhist("status"), "allocators tracked", "status")
    matches(d.refhist("status --sites"), r"session_own_malloc_O1 \w*malloc: agent, \d+ hits", "sites")
    d.cont()
    d.expect_exit(0)
