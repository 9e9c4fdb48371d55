"""A saved history tells the same when it is opened: in this debugger, in a new one, and in the other one. The programs are those of
same_answers.py and some more."""

import json
import os
import shutil
import sqlite3
import subprocess

import mistakes
import same_answers
from harness.checks import check, contains, equal

PROGRAMS = dict(same_answers.PROGRAMS, mistakes_O2=mistakes.TRACK, shared_pointers_O2="shared_ptr weak_ptr",
                inlined_O2=same_answers.CONN)
MODES = {"mistakes_O2": ["over-put"], "shared_pointers_O2": ["cycle"]}
QUESTIONS = ("status --sites", "objects --all --json", "leaks --json", "leaks --stacks full --reachable")


def record(d, backend="auto"):
    d.backend = backend
    d.refhist(f"set backend {backend}")
    d.track(PROGRAMS[d.variant])
    d.run(*MODES.get(d.variant, []))
    return os.path.join(d.case.scratch, "history.rh")


def answers(d):
    """What the reports say, and the whole life of a few objects as people read it."""
    texts = {question: d.refhist(question) for question in QUESTIONS}
    texts["status --sites"] = "".join(line + "\n" for line in texts["status --sites"].splitlines()
                                      if line.startswith(("    ", "note: ")) and not line.startswith("    allocator"))
    for thing in json.loads(texts["objects --all --json"])["objects"][:5]:
        question = f"{thing['address']} --generation {thing['generation']} --stacks full"
        texts[question] = d.refhist(question)
    return texts


def expect_the_same(d, before):
    for question, text in answers(d).items():
        equal(text, before[question], f"`refhist {question}` of the file")


def test_the_same_answers(d):
    path = record(d)
    before = answers(d)
    events = d.refhist_json("status")["totals"]["events"]
    check(events > 0, "nothing was recorded")
    contains(d.refhist(f"save {path}"), f"saved {events} event", "save")
    d.refhist(f"open {path}")
    status = d.refhist_json("status")
    equal((status["opened"], status["totals"]["events"]), (path, events), "file and events")
    expect_the_same(d, before)
    # Saved again from the file, and opened again, nothing is lost either.
    copy = path + ".again"
    d.refhist(f"save {copy}")
    d.refhist(f"open {copy}")
    expect_the_same(d, before)


def other_debugger(d, *lines):
    """What the other debugger answers without any program: its output."""
    script = d.write_file("other.txt", "")
    environment = d.environment
    if d.name == "gdb":
        argv = [d.case.lldb, "--no-lldbinit", "--no-use-colors", "-b", "-s", script]
        load = f"plugin load {d.case.plugin}"
        if not d.case.lldb or not os.path.exists(d.case.plugin):
            return None
    else:
        argv = [d.case.gdb, "-nx", "-q", "-batch", "-x", script]
        load = f"source {d.case.build}/gdb/refhist.py"
    d.write_file("other.txt", "\n".join([load, *lines]) + "\n")
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, timeout=100, check=False)
    return done.stdout


def test_in_the_other_debugger(d):
    path = record(d)
    before = d.refhist_json("leaks")
    things = d.refhist_json("objects --all")
    d.refhist(f"save {path}")
    text = other_debugger(d, f"refhist open {path}", "refhist leaks --json", "refhist objects --all --json")
    if text is None:
        return
    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(text, text.index("\n{") + 1)
    second, _ = decoder.raw_decode(text, text.index("\n{", end) + 1)
    equal(first, before, "leaks in the other debugger")
    equal(second, things, "objects in the other debugger")


def test_rows_for_everybody(d):
    """The tables are plain SQL: what the file says of events is what the debugger says."""
    path = record(d)
    rows = path + ".sqlite"
    d.refhist(f"save {path}")
    d.refhist(f"export --format sqlite {rows}")
    with sqlite3.connect(rows) as file:
        told = {(row[0], row[1]): row[2] for row in file.execute(
            "SELECT o.address, o.generation, count(*) FROM events e JOIN objects o ON o.id = e.object GROUP BY o.id")}
        stacks = file.execute("SELECT count(*) FROM events WHERE stack IS NOT NULL AND stack NOT IN (SELECT id FROM stacks)")
        equal(stacks.fetchone()[0], 0, "events with stacks that are not there")
    seen = {(int(thing["address"], 16), thing["generation"]): len(thing["events"])
            for thing in d.refhist_json("objects --all")["objects"]}
    equal(told, seen, "events by object")
    d.refhist(f"open {rows}")
    shutil.rmtree(path, ignore_errors=True)
