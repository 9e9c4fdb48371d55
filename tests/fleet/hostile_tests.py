"""What a sender may do, and what the database makes of what it sends. usage: hostile_tests.py --build DIR"""

import json

from fleet_harness import DETAIL, FINDING, contains, equal, lacks, main


def test_a_sender_can_only_send(f):
    f.send()
    tables = f.server.sql("SELECT relname FROM pg_class WHERE relnamespace = 'refhist'::regnamespace AND relkind IN ('r', 'p', 'v')",
                          database="fleet").split()
    for table in tables:
        for statement in (f"SELECT * FROM refhist.{table}", f"DELETE FROM refhist.{table}", f"TRUNCATE refhist.{table}",
                          f"INSERT INTO refhist.{table} DEFAULT VALUES"):
            done = f.server.sql(statement, user="sender", check=False)
            allowed = (table, statement[:6]) == ("schema_version", "SELECT")
            equal(done.returncode == 0, allowed, f"{statement}: {done.stderr}")
    for statement in ("INSERT INTO refhist.incoming (transaction, kind) VALUES ('1', 'r')", "SELECT refhist.judge('p', 'x', true, 'y')",
                      "SELECT refhist.prune('1 day', '1 day')", "SELECT refhist.project_of('x')", "CREATE TABLE refhist.x ()",
                      "SELECT refhist.expect_partition(now())"):
        contains(f.server.sql(statement, user="sender", check=False).stderr, "permission denied", statement)


def test_a_reader_can_only_read(f):
    f.send()
    for statement in ("SELECT refhist.judge('p', 'x', true, 'y')", "SELECT refhist.take_run()", "SELECT refhist.fold()", "DELETE FROM refhist.run",
                      "INSERT INTO refhist.incoming (kind) VALUES ('r')", "SELECT refhist.prune('1 day', '1 day')", "SELECT refhist.wanted('p', '{}')"):
        contains(f.server.sql(statement, user="reader", check=False).stderr, "permission denied", statement)


def test_every_function_is_somebodys(f):
    rows = f.server.sql("SELECT proname, prosecdef, array_to_string(proconfig, ';') FROM pg_proc WHERE pronamespace = 'refhist'::regnamespace "
                        "AND (prosecdef OR proacl IS NULL)", database="fleet").splitlines()
    for row in rows:
        name, definer, settings = row.split("|")
        equal(definer, "t", f"{name} has its rights told")
        contains(settings, "search_path=pg_catalog, refhist, pg_temp", name)


def test_bad_rows_are_refused_with_their_reason(f):
    record = f.record(findings=[(FINDING, 1), ("0" * 16, 0), ("xyz", 1), ("1" * 16, 1), ("2" * 16, 1), ("3" * 16, 1), ("4" * 16, 1)],
                      places=[("good", [1, 1, 1, 8, 8]), ("bad", [-1, 1, 1, 8, 8])])
    record["findings"][3]["detail"]["title"] = "a\x1b[2J"
    record["findings"][4]["detail"]["lines"] = ["\u202eturned"]
    record["findings"][5]["detail"]["family"] = "f" * 201
    record["findings"][6]["detail"] = ["no object"]
    told = f.server_answer(record)
    for reason in ("0000000000000000: its number of objects is not between", "xyz: its fingerprint is not 16", "title has control characters",
                   "its description has control characters", "family is longer than 200", "no JSON object", "place 1: its numbers"):
        contains(told, reason, "reasons")
    equal(f.server.sql("SELECT findings, cardinality(places) FROM refhist.run", database="fleet").count(","), 0, "one finding is left")


def test_what_is_too_much_is_left_out(f):
    """In whatever order it comes: a finding that was refused is not counted."""
    record = f.record(findings=[(f"{number:016x}", 1) for number in range(5_002, 0, -1)])
    contains(f.server_answer(record), "the run has more than 5000 findings", "reasons")
    f.server.sql("SELECT refhist.fold()", user="sender")
    equal(f.server.sql("SELECT cardinality(findings), array_position(findings, NULL) FROM refhist.run", database="fleet"), "5000|", "findings of the run")
    equal(f.server.sql("SELECT count(*) FROM refhist.finding_series", database="fleet"), "5000", "findings that are counted")


def test_bad_runs_are_refused_whole(f):
    for header, reason in [({"protocol": 2}, "protocol is not between 1 and 1"), ({"project": ""}, "project is empty"), ({"branch": "a\tb"}, "control"),
                           ({"commit": "c" * 201}, "longer than 200"), ({"events": -1}, "events is not between"), ({"started_us": 0}, "400 days"),
                           ({"started_us": 4 * 10**15}, "in the future"), ({"labels": [1]}, "labels are no object"), ({"host": None}, "host is missing"),
                           ({"seconds": "soon"}, "seconds is not between"), ({"arguments": "x" * 8001}, "longer than 8000")]:
        done = f.deliver(f.spooled(f.record(**header)))
        equal(done.returncode, 1, done.stderr)
        contains(done.stdout, "the database refuses a run", str(header))
        contains(done.stdout, reason, str(header))
    equal((f.server.sql("SELECT count(*) FROM refhist.run", database="fleet"), f.waiting()), ("0", []), "runs and spool")


def test_a_copy_of_anything(f):
    """Whoever has the password need not use our program."""
    for rows, reason in [("", "does not begin with one run"), ("('r', '{'), ('r', '{}')", "does not begin with one run"), ("('f', NULL)", "one run"),
                         ("('r', '{\"protocol\": 1}')", "started_us is not between")]:
        insert = f"INSERT INTO refhist.incoming (kind, body) VALUES {rows};" if rows else ""
        done = f.server.sql(f"BEGIN; {insert} SELECT refhist.take_run(); COMMIT", user="sender", check=False)
        contains(done.stderr, reason, rows)
    contains(f.server.sql("INSERT INTO refhist.incoming (kind, body) VALUES ('r', repeat('x', 300000))", user="sender", check=False).stderr,
             "violates check constraint", "too long")
    contains(f.server.sql("SELECT refhist.add_history(gen_random_uuid(), now(), 0, 'x')", user="sender", check=False).stderr,
             "a history comes with its run", "history of another run")


def test_an_array_in_a_fingerprint(f):
    """Text that would end an array is no part of one."""
    record = f.record(findings=[("a},{b", 1), ('"', 1), ("'; DROP TABLE refhist.run", 1)])
    contains(f.server_answer(record), "its fingerprint is not 16", "reasons")
    equal(f.server.sql("SELECT count(*) FROM refhist.run", database="fleet"), "1", "runs")


def test_terminals_and_pages_are_safe(f):
    """The owner of the database may have put anything there."""
    f.send()
    f.server.sql("UPDATE refhist.finding SET title = E'x\\x1b[2Jy<script>alert(1)</script>'", database="fleet")
    said = f.says("findings") + f.says("show", FINDING)
    lacks(said, "\x1b", "terminal")
    contains(said, "\\x1b[2J", "terminal")


def test_senders_do_not_see_each_other(f):
    f.server.sql("INSERT INTO refhist.incoming (kind, body) VALUES ('r', '{}')", user="sender")
    f.send()
    contains(f.server.sql("SELECT count(*) FROM refhist.incoming", database="fleet"), "1", "what was left by another stays out")
    equal(json.loads(json.dumps(DETAIL))["verdict"], "leak", "detail")
    f.says("prune", "--older-than", "90", user="owner")
    equal(f.server.sql("SELECT count(*) FROM refhist.incoming", database="fleet"), "0", "and is thrown away")


main(globals())
