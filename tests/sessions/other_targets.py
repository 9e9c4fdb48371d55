"""Core files and gdbserver on loopback."""

from harness.checks import equal, matches
from harness.shapes import called_from, counts, roles


def test_core_file(d):
    d.break_at("checkpoint")
    d.run()
    subject = d.value("subject")
    path = d.save_core()
    d.kill()
    d.open_core(path)
    matches(d.refhist_error("track --get conn_get --put conn_put"), "(?i)core", "track on a core file")
    matches(d.refhist("status"), "^a core file", "status")
    matches(d.refhist_error(f"{subject:#x}"), r"\S", "an object that was never seen")
    d.refhist("status")


def stop_at_server(d):
    d.track_conn()
    d.connect_to_server()
    d.break_at("checkpoint")
    d.cont()
    d.expect_stop(function="checkpoint")


def test_kill_over_gdbserver(d):
    """GDB cannot tell a kill from a detach there; it is not said that the program goes on."""
    stop_at_server(d)
    d.kill()
    d.expect_no_process()
    matches(d.refhist("status"), r"^(killed or detached: the history|the process was killed by signal 9)", "status")
    equal(len(d.refhist_json("objects --all")["objects"]), 1, "objects in the history")


def test_detach_over_gdbserver(d):
    stop_at_server(d)
    d.detach()
    d.expect_no_process()
    matches(d.refhist("status"), r"^(killed or )?detached: the history ends at that point", "status")


def test_gdbserver(d):
    d.track_conn()
    d.connect_to_server()
    d.break_at("checkpoint")
    d.cont()
    d.cont()
    d.cont()
    d.expect_stop(function="checkpoint")
    subject = d.object("subject")
    equal(roles(subject), ["init", "get", "get", "put"], "roles")
    equal([after for _, after in counts(subject)], [1, 2, 3, 2], "counts")
    called_from(subject["events"][1], "take")
    called_from(subject["events"][1], "main")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
