"""Saving and opening as users do it, and what goes wrong with it (on the program of lifecycle.c)."""

import contextlib
import os
import shutil
import sqlite3

from harness.checks import check, contains, equal, lacks
from harness.held_thread import held_thread, thread_named
from harness.shapes import objects, roles


def file_of(d, name="history.rh"):
    return os.path.join(d.case.scratch, name)


def record(d, *arguments):
    d.track_conn()
    d.break_at("checkpoint")
    d.run(*arguments)
    d.expect_stop(function="checkpoint")


def record_again(d):
    d.run()
    d.expect_stop(function="checkpoint")


def saved(d):
    record(d)
    d.refhist(f"save {file_of(d)}")
    d.kill()
    return file_of(d)


def test_save_at_a_stop(d):
    record(d)
    before = d.object("subject")
    address = before["address"]
    contains(d.refhist(f"save {file_of(d)}"), "saved 2 events of 1 object in", "save")
    d.cont()  # the session goes on
    equal(roles(d.object("subject")).count("get"), 51, "gets after saving")
    d.kill()
    d.refhist(f"open --discard {file_of(d)}")
    equal(d.object(address), before, "the object in the file")
    contains(d.refhist("status"), "the process was still running then", "status")
    contains(d.refhist("leaks"), "", "leaks")


def test_a_run_after_open(d):
    path = saved(d)
    d.refhist(f"open {path}")
    d.run()
    d.expect_stop(function="checkpoint")
    status = d.refhist_json("status")
    equal((status["opened"], [family["name"] for family in status["families"]]), (None, ["conn"]), "after a new run")
    equal(roles(d.object("subject")), ["init", "get"], "history of the new run")


def late_news(d):
    """LLDB hears of an end in a thread of its own, which may come late. GDB has no such thread."""
    if d.name == "gdb":
        return contextlib.nullcontext()
    return held_thread(thread_named(d.terminal.pid, "dbg.evt-handler"), 0.3)


def test_open_right_after_the_end(d):
    path = saved(d)
    for end in (d.kill, d.detach):
        record_again(d)
        with late_news(d):
            end()
            d.refhist(f"open --discard {path}")


def test_beside_a_core_file(d):
    record(d)
    d.refhist(f"save {file_of(d)}")
    before = d.object("subject")
    core = d.save_core()
    d.kill()
    d.open_core(core)
    d.refhist(f"open --discard {file_of(d)}")
    equal(d.object("subject"), before, "the object, by its variable in the core file")


def test_history_that_would_be_lost(d):
    path = saved(d)
    d.run()
    d.kill()
    contains(d.refhist_error(f"open {path}"), "refhist save FILE, or refhist open --discard", "error")
    d.refhist(f"open --discard {path}")
    d.refhist(f"open {path}")  # a file is no history that could be lost


def test_open_beside_a_process(d):
    path = saved(d)
    record_again(d)
    contains(d.refhist_error(f"open {path}"), "is being recorded", "error")
    equal(roles(d.object("subject")), ["init", "get"], "history after the error")


def test_wrong_words(d):
    contains(d.refhist_error("save"), "usage: refhist save FILE", "error")
    contains(d.refhist_error("open"), "usage: refhist open FILE", "error")
    contains(d.refhist_error("save a b"), "save", "error")
    contains(d.refhist_error(f"save {file_of(d)}"), "no history to save", "error")
    contains(d.refhist_error("open /nowhere/at/all"), "/nowhere/at/all: No such file or directory", "error")
    contains(d.refhist_error("open /"), "not a regular file", "error")
    contains(d.refhist_error(f"open {d.program}"), "file is not a database", "error")
    empty = d.write_file("empty", "")
    contains(d.refhist_error(f"open {empty}"), "not a history file", "error")


def test_a_file_that_cannot_be_written(d):
    record(d)
    contains(d.refhist_error("save /nowhere/at/all"), "/nowhere/at/all could not be written", "error")
    folder = file_of(d, "folder")
    os.mkdir(folder)
    contains(d.refhist_error(f"save {folder}"), "not a regular file", "error")
    # On a disk that is full the file that was there stays.
    path = saved_beside(d)
    before = open(path, "rb").read()
    if os.path.exists("/dev/full"):
        contains(d.refhist_error("save /dev/full"), "not a regular file", "error")
    equal(open(path, "rb").read(), before, "the file that was there")
    equal([name for name in os.listdir(d.case.scratch) if ".part-" in name], [], "unfinished files")


def saved_beside(d):
    d.refhist(f"save {file_of(d, 'beside.rh')}")
    return file_of(d, "beside.rh")


def test_damaged_files(d):
    path = saved(d)
    whole = open(path, "rb").read()

    def damaged(change):
        with open(path, "wb") as file:
            file.write(whole)
        change()
        text = d.refhist_error(f"open {path}")
        contains(text, path, "error")
        return text

    def sql(statement):
        def change():
            with sqlite3.connect(path) as file:
                file.executescript(statement)
        return change

    def cut():
        os.truncate(path, len(whole) // 2)

    damaged(cut)
    contains(damaged(sql("PRAGMA user_version=99")), "has version 99 of the format, this refhist reads versions 4 to 10", "newer")
    contains(damaged(sql("PRAGMA application_id=1")), "not a history file of refhist", "foreign")
    contains(damaged(sql("DROP TABLE stacks")), "stacks is missing", "a table less")
    contains(damaged(sql("DROP TABLE stacks; CREATE VIEW stacks AS SELECT 1")), "stacks is missing", "a view")
    contains(damaged(sql("UPDATE objects SET family=77")), "table objects, row 0: 77 in column family", "family")
    contains(damaged(sql("UPDATE stacks SET parent=id")), "table stacks", "a stack that never ends")
    contains(damaged(sql("DELETE FROM stacks WHERE id=0")), "stacks has no row 0", "a row less")
    contains(damaged(sql("DELETE FROM sites WHERE id=1; UPDATE sites SET id=1 WHERE id=2")), "sites has no row", "a row less in between")
    contains(damaged(sql("DELETE FROM event_pages")), "not complete", "no events")
    contains(damaged(sql("DELETE FROM meta WHERE key='saved_at'")), "saved_at", "meta")
    contains(damaged(sql("UPDATE origins SET kind=4000000000")), "damaged", "kind of event")
    contains(damaged(sql("PRAGMA user_version=3")), "has version 3 of the format", "older")
    with open(path, "wb") as file:
        file.write(whole)
    sql("PRAGMA user_version=4")()  # the same tables
    d.refhist(f"open {path}")
    sql("UPDATE event_pages SET data=x'00112233'")()
    d.refhist(f"open {path}")  # events are read when they are asked for
    contains(d.refhist_error("objects --json"), "damaged", "a damaged page")
    # Nothing of the session is lost.
    record_again(d)
    equal(roles(d.object("subject")), ["init", "get"], "events after all these errors")


def test_autosave_at_the_end(d):
    d.refhist(f"set autosave {file_of(d, 'auto-%p.rh')}")
    record(d)
    d.delete_breakpoints()
    text = d.cont() + d.command("refhist status")
    names = [name for name in os.listdir(d.case.scratch) if name.startswith("auto-")]
    equal(len(names), 1, f"files written ({text})")
    contains(text, f"refhist: saved 105 events of 1 object in {file_of(d, names[0])}", "what is said")
    d.refhist(f"open {file_of(d, names[0])}")
    contains(d.refhist("status"), "the process exited with status 3", "status")


def test_autosave_at_a_crash(d):
    d.refhist(f"set autosave {file_of(d)}")
    record(d, "crash")
    d.delete_breakpoints()
    d.cont()
    d.expect_stop(signal="SIGSEGV")
    d.refhist("status")
    check(os.path.exists(file_of(d)), "nothing was saved")
    d.kill()
    d.refhist("status")
    d.refhist(f"open --discard {file_of(d)}")
    equal(roles(objects(d, "--all")[0]).count("get"), 51, "gets")


def test_autosave_when_the_debugger_ends(d):
    d.refhist(f"set autosave {file_of(d)}")
    contains(d.refhist("show autosave"), f"autosave {file_of(d)} (off or FILE)", "setting")
    record(d)
    d.quit()
    with sqlite3.connect(file_of(d)) as file:
        equal(file.execute("SELECT count(*) FROM objects").fetchone()[0], 1, "objects in the file")


def test_autosave_that_fails(d):
    d.refhist("set autosave /nowhere/at/all")
    record(d)
    d.delete_breakpoints()
    text = d.cont() + d.command("refhist status")
    contains(text, "refhist: the history was not saved: /nowhere/at/all could not be written", "what is said")
    d.expect_exit(3)
    d.refhist("set autosave off")
    contains(d.refhist("show autosave"), "autosave off", "setting")
    lacks(d.refhist("status"), "/nowhere", "status")
