"""Sending: once, in whatever trouble, from 64 at once. usage: send_tests.py --build DIR [--only test_x]"""

import json
import os
import signal
import time

from fleet_harness import FINDING, check, contains, equal, lacks, main


def runs(f):
    return int(f.server.sql("SELECT count(*) FROM refhist.run", database="fleet"))


def test_a_run_is_sent_once(f):
    record = f.record()
    contains(f.send(record), "1 finding, 1 new to the project", "first time")
    contains(f.send(record), "already there", "second time")
    record["run"]["commit"] = "c2"
    f.send(record)
    equal((runs(f), f.waiting()), (2, []), "runs and spool")
    equal(f.ask("findings")["findings"][0]["runs_with"], 2, "counted runs")


def test_64_senders_at_once(f):
    names = [f"{number:016x}" for number in range(40)]
    paths = [f.spooled(f.record(findings=[(name, 1) for name in names])) for _ in range(64)]
    senders = [f.start_deliver(path) for path in paths]
    for sender in senders:
        output = sender.communicate(timeout=60)
        equal(sender.returncode, 0, str(output))
    equal((runs(f), f.waiting()), (64, []), "runs and spool")
    found = f.ask("findings")
    equal((len(found["findings"]), {one["runs_with"] for one in found["findings"]}, found["not_counted_yet"]), (40, {64}, 0), "findings")


def test_the_database_is_away(f):
    f.server.halt()
    path = f.spooled(f.record())
    done = f.deliver(path)
    equal((done.returncode, len(done.stdout.splitlines()), done.stderr), (1, 1, ""), done.stdout)
    contains(done.stdout, "not sent: the database cannot be reached", "line")
    contains(done.stdout, "the next send takes it along", "line")
    f.server.start()
    contains(f.send(), "1 run that waited sent along", "next send")
    equal((runs(f), f.waiting()), (2, []), "runs and spool")


def test_the_server_is_killed_in_the_middle(f):
    # A lock holds the sender in the middle of its transaction.
    f.send(commit="c0")
    with f.server.session("BEGIN; LOCK TABLE refhist.unfolded;"):
        sender = f.start_deliver(f.spooled(f.record()))
        f.server.wait_for("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'refhist' AND wait_event_type = 'Lock'", "1")
        f.server.kill()
        output = sender.communicate(timeout=60)[0]
    contains(output, "not sent", "line")
    equal(len(f.waiting()), 1, "spool")
    time.sleep(1)
    f.server.halt()
    f.server.start()
    equal(runs(f), 1, "half of a run is none")
    contains(f.send(), "1 run that waited sent along", "next send")
    equal(runs(f), 3, "runs")


def test_the_sender_is_killed_in_the_middle(f):
    f.send(commit="c0")
    with f.server.session("BEGIN; LOCK TABLE refhist.unfolded;"):
        sender = f.start_deliver(f.spooled(f.record()))
        f.server.wait_for("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'refhist' AND wait_event_type = 'Lock'", "1")
        sender.send_signal(signal.SIGKILL)
        sender.communicate()
    equal(len(f.waiting()), 1, "spool")
    f.server.wait_for("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'refhist'", "0")
    # The database may have seen the end of the transaction, or not: the run is there once.
    f.send()
    equal((runs(f), f.waiting()), (3, []), "runs and spool")


def test_a_slow_database(f):
    f.send(commit="c0")
    f.server.sql("ALTER ROLE sender SET statement_timeout = '300ms'")
    with f.server.session("BEGIN; LOCK TABLE refhist.unfolded;"):
        done = f.deliver(f.spooled(f.record()), PGOPTIONS="")
        equal(done.returncode, 1, done.stdout)
        contains(done.stdout, "the database took too long", "line")
    f.server.sql("ALTER ROLE sender RESET statement_timeout")
    f.send()
    equal((runs(f), f.waiting()), (3, []), "runs and spool")


def test_a_full_database(f):
    f.send(commit="c0")
    f.server.sql("CREATE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file' "
                 "USING ERRCODE = 'disk_full'; END $$", "CREATE TRIGGER full_disk BEFORE INSERT ON refhist.unfolded EXECUTE FUNCTION public.full_disk()",
                 database="fleet")
    done = f.deliver(f.spooled(f.record()))
    equal((done.returncode, len(f.waiting())), (1, 1), done.stdout)
    contains(done.stdout, "could not extend file", "line")
    f.server.sql("DROP TRIGGER full_disk ON refhist.unfolded", database="fleet")
    f.send()
    equal(runs(f), 3, "runs")


def test_a_full_disk(f):
    """A real one: the tablespace's file system has no byte left."""
    with f.server.small_disk(60) as place:
        if place is None:
            return
        f.server.sql("ALTER DATABASE fleet SET TABLESPACE small")
        f.send(commit="c0")
        with open(os.path.join(place, "filler"), "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        # Free places in the tables' last pages are used up first.
        said = [f.deliver(f.spooled(f.record(findings=[(f"{number:08x}{i:08x}", 1) for i in range(300)]))).stdout for number in range(8)]
        contains(said[-1], "No space left on device", "line")
        contains(said[-1], "the next send takes it along", "line")
        check(f.waiting(), "what was not sent waits")
        os.remove(os.path.join(place, "filler"))
        f.send()
        equal((runs(f), f.waiting()), (10, []), "runs and spool")


def test_the_spool_is_bounded(f):
    f.server.halt()
    save = f.file("x.rh")
    for number in range(4):
        done = f.refhist_run(["--save", save, "--commit", f"c{number}"], REFHIST_SPOOL_LIMIT="12K")
        contains(done.stderr, "not sent", "report")
    contains(done.stderr, "thrown away", "what is lost is said")
    check(0 < len(f.waiting()) < 4, f.waiting())
    f.server.start()


def test_saved_histories(f):
    f.refhist_run(["--save", f.file("x.rh"), "--commit", "c1", "--branch", "main"])
    done = f.refhist("send", f.file("x.rh"), "--commit", "c1", "--branch", "main")
    contains(done.stdout, "already there", "the file of a run that was sent")
    done = f.refhist("send", f.file("x.rh"), "--commit", "c2", "--branch", "main", "--label", "os=debian", "--send-history", "always")
    equal(done.returncode, 0, done.stdout + done.stderr)
    run = f.ask("runs", "--commit", "c2")["runs"][0]
    equal((run["labels"], run["findings"]), ({"os": "debian"}, 1), "run")
    equal(f.refhist("fleet", "history", run["run"][:8], "-o", "out.rh").returncode, 0, "history")
    with open(f.file("x.rh"), "rb") as sent, open(f.file("out.rh"), "rb") as fetched:
        equal(sent.read() == fetched.read(), True, "the same file")
    contains(f.refhist("out.rh").stdout, "leaked", "its report")
    f.folder_write("bad.rh", "no history")
    done = f.refhist("send", f.file("bad.rh"))
    equal((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)


def test_a_service_file(f):
    """Its name is all that the list of processes shows."""
    f.folder_write("services", "".join(f"[{name}]\nhost={f.server.folder}\ndbname=fleet\nuser={name}\n" for name in ("sender", "reader")))
    services = {"PGSERVICEFILE": f.file("services"), "REFHIST_SEND": "service=sender"}
    contains(f.refhist_run(["--save", f.file("x.rh")], **services).stderr, "sent as run", "refhist-run")
    contains(f.refhist("send", "x.rh", "--to", "service=sender", "--commit", "c2", **services).stdout, "sent as run", "refhist send")
    done = f.refhist("fleet", "findings", REFHIST_FLEET="service=reader", **services)
    contains(done.stdout, "2 of 2 runs", "refhist fleet")


def test_wrong_usage(f):
    for words, told, status in [(["fleet"], "refhist fleet COMMAND", 2), (["fleet", "findngs"], "did you mean findings?", 2),
                                (["fleet", "findings", "--bramch", "x"], "did you mean --branch?", 2),
                                (["fleet", "show"], "usage: refhist fleet show FINGERPRINT", 2),
                                (["fleet", "show", "ffff"], "no finding ffff", 1), (["fleet", "compare", "x", "y"], "x is no run", 1),
                                (["fleet", "findings", "--database", "postgresql://u:secret@h/d"], "can read a password", 2),
                                (["fleet", "findings", "--database", "host=h password = secret"], "can read a password", 2),
                                (["fleet", "serve", "--listen", "here"], "--listen must be HOST:PORT", 2),
                                (["fleet", "findings", "--last", "0"], "--last must be 1 to", 2), (["fleet", "runs", "--last", "x"], "--last", 2),
                                (["fleet", "prune"], "--older-than DAYS says", 2), (["fleet", "history", "x", "y", "z"], "usage: refhist fleet history", 2),
                                (["fleet", "accept", FINDING], "--why TEXT says", 2), (["send", "x.rh", "--label", "x"], "KEY=VALUE", 2),
                                (["send", "x.rh", "--to", "postgresql://u:secret@h/d"], "can read a password", 2),
                                (["send", "x.rh", "--send-history", "some"], "always, on-findings or never", 2)]:
        done = f.refhist(*words)
        equal(done.returncode, status, f"{words}: {done.stderr}")
        contains(done.stderr, told, f"answer to {words}")
        lacks(done.stderr, "secret", "the password")
    done = f.refhist("send", "x.rh", REFHIST_SEND="")
    equal((done.returncode, "where to?" in done.stderr), (2, True), done.stderr)


def test_each_command_with_the_database_away(f):
    f.refhist_run(["--save", f.file("x.rh"), "--no-send"])
    f.server.halt()
    for words in (["findings"], ["show", FINDING], ["since", FINDING], ["growth"], ["runs"], ["compare", "a", "b"], ["accept", FINDING, "--why", "x"],
                  ["reopen", FINDING, "--why", "x"], ["history", "a", "-o", "out.rh"], ["serve", "--listen", "127.0.0.1:1"], ["migrate"],
                  ["prune", "--older-than", "90"]):
        done = f.refhist("fleet", *words)
        equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (1, "", 1), f"{words}: {done.stderr}")
        contains(done.stderr, "refhist: the database cannot be reached", f"answer to {words}")
    done = f.refhist("send", "x.rh")
    equal((done.returncode, len(done.stdout.splitlines())), (1, 1), done.stdout)
    contains(done.stdout, "the next send takes it along", "send")
    f.server.start()


def test_a_damaged_spool(f):
    path = f.spooled({})
    with open(path, "w", encoding="utf-8") as file:
        file.write("{")
    done = f.deliver(f.spooled(f.record()))
    contains(done.stdout, "refuses a run", "line")
    equal(done.returncode, 1, "a run is not in the database")
    equal((runs(f), f.waiting(), len([name for name in os.listdir(f.spool()) if name.endswith(".refused")])), (1, [], 1), "runs and spool")
    equal(json.loads(json.dumps(f.ask("findings")["findings"][0]["fingerprint"])), FINDING, "finding")


main(globals())
