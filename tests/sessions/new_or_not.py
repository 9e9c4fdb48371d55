"""A call that returns a new object or one that exists is a birth where the object is new, and nothing else."""

from harness.checks import contains, equal
from harness.shapes import objects, role_totals

FILE = """schema = 1
[[family]]
name = "leaf"
count = "refs"
type = "leaf"
init = [{ function = "leaf_of", may_exist = true }]
get = ["leaf_get"]
put = ["leaf_put"]
"""


def roles(thing):
    return [event["role"] for event in thing["events"] if event["role"] not in ("alloc", "free")]


def test_from_the_beginning(d):
    d.track(f"--probes {d.write_file('leaf.toml', FILE)}")
    d.run()
    d.expect_exit(0)
    every = objects(d, "--all")
    equal([thing["complete"] for thing in every], [True] * 4, "complete")
    equal(sorted(roles(thing) for thing in every),
          [["init"], ["init", "get", "put", "put"], ["init", "get", "put", "put"], ["init", "put"]], "events")
    equal(role_totals(every).get("unobserved"), None, "unobserved changes")
    equal([group["objects_count"] if "objects_count" in group else len(group["objects"])
           for group in d.refhist_json("leaks")["leaks"]], [1], "leaks")


def test_one_that_existed_before_is_not_born(d):
    d.break_at("middle")
    d.run()
    d.track(f"--probes {d.write_file('leaf.toml', FILE)}")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
    every = objects(d, "--all")
    equal(sorted(thing["complete"] for thing in every), [False, True, True, True], "complete")
    (early,) = [thing for thing in every if not thing["complete"]]
    equal(roles(early), ["get", "put", "put"], "events of the one that existed")


def test_only_a_birth_may_exist(d):
    text = FILE.replace('get = ["leaf_get"]', 'get = [{ function = "leaf_get", may_exist = true }]')
    answer = d.command(f"refhist track --probes {d.write_file('wrong.toml', text)}")
    contains(answer, "'may_exist' is for init only; get acts on objects that exist", "the error")
