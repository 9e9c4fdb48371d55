"""Migrations, from each earlier schema; clients of two versions; pruning. usage: schema_tests.py --build DIR"""

import os

from fleet_harness import FINDING, check, contains, equal, main

_NEWEST = 4


def _data(f):
    """What must survive: one run more at each schema."""
    return f.server.sql("SELECT count(*), sum(cardinality(findings)) FROM refhist.run", "SELECT runs_with FROM refhist.finding_series",
                        database="fleet")


def from_schema(f, version):
    f.new_database(schema=str(version))
    f.send()
    done = f.refhist("fleet", "findings")
    equal(done.returncode, 1, done.stdout)
    contains(done.stderr, f"the database has schema {version}, and this refhist asks about {_NEWEST}: its owner runs refhist fleet migrate", "answer")
    with f.server.session("SELECT pg_advisory_lock(7237, 2);"):  # whoever counts has it in the schemas 1 to 3
        f.send()
    if version >= 2:
        f.server.sql(f"SELECT refhist.judge('p', '{FINDING}', true, 'known')", user="triage")
    if version >= 3:
        f.server.sql("INSERT INTO refhist.history (run, part, bytes) SELECT id, 0, 'x' FROM refhist.run", database="fleet")
    before = _data(f)
    done = f.refhist("fleet", "migrate", user="owner")
    equal((done.returncode, len(done.stdout.splitlines())), (0, _NEWEST - version), done.stdout + done.stderr)
    equal(_data(f), before, "what was there")
    f.send()
    finding = f.ask("findings", "--all")["findings"][0]
    equal((finding["runs_with"], finding["state"]), (3, "accepted" if version >= 2 else "open"), "the run that waited, one after it, what was said")
    if version >= 3:
        equal(f.server.sql("SELECT count(*) FROM refhist.history h JOIN refhist.run r ON r.project = h.project AND r.id = h.run", database="fleet"), "2",
              "histories")


def test_from_schema_1(f):
    from_schema(f, 1)


def test_from_schema_2(f):
    from_schema(f, 2)


def test_from_schema_3(f):
    from_schema(f, 3)


def test_the_project_is_in_every_key(f):
    """What a database that is distributed by project asks for."""
    f.send()
    without = f.server.sql("SELECT relname FROM pg_class c WHERE relnamespace = 'refhist'::regnamespace AND relkind IN ('r', 'p') AND NOT EXISTS "
                           "(SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'project') ORDER BY 1", database="fleet")
    equal(without.split(), ["incoming", "project", "schema_version"], "tables of no project")
    keys = f.server.sql("SELECT i.indexrelid::regclass, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a "
                        "ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE c.relnamespace = 'refhist'::regnamespace AND c.relname NOT IN "
                        "('incoming', 'project', 'schema_version')", database="fleet").splitlines()
    check(len(keys) >= 14, keys)
    equal([key for key in keys if not key.endswith(("|project", "history_by_time|received_at"))], [], "indexes that begin with something else")
    across = f.server.sql("SELECT conname FROM pg_constraint WHERE contype = 'f' AND connamespace = 'refhist'::regnamespace AND confrelid <> "
                          "'refhist.project'::regclass AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = conrelid AND a.attnum = conkey[1] "
                          "AND a.attname = 'project')", database="fleet")
    equal(across, "", "references across projects")


def test_again(f):
    contains(f.refhist("fleet", "migrate", user="owner").stdout, "up to date: 4", "second time")


def test_a_newer_refhist_has_been_there(f):
    f.server.sql("INSERT INTO refhist.schema_version (version, refhist) VALUES (99, '9.9')", database="fleet")
    for words, user in [(["migrate"], "owner"), (["findings"], "reader"), (["prune", "--older-than", "90"], "owner")]:
        done = f.refhist("fleet", *words, user=user)
        equal((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        contains(done.stderr, "schema 99, and this refhist knows 1 to 4: install the newer refhist", words[0])
    # Its functions take what an older refhist sends.
    contains(f.send(), "sent as run", "older client")


def test_a_newer_client(f):
    """Its run is set aside with the reason: this database will not understand it tomorrow, either."""
    done = f.deliver(f.spooled(f.record(protocol=2)))
    contains(done.stdout, "protocol is not between 1 and 1", "answer")
    equal(len([name for name in os.listdir(f.spool()) if name.endswith(".refused")]), 1, "set aside")


def test_no_schema(f):
    f.server.sql("DROP SCHEMA refhist CASCADE", database="fleet")
    done = f.deliver(f.spooled(f.record()))
    contains(done.stdout, "its owner runs refhist fleet migrate", "sender")
    equal(len(f.waiting()), 1, "spool")
    contains(f.refhist("fleet", "findings").stderr, "has schema 0", "reader")


def test_who_may_migrate(f):
    f.server.sql("DROP SCHEMA refhist CASCADE", database="fleet")
    done = f.refhist("fleet", "migrate", user="reader")
    equal((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
    contains(done.stderr, "permission denied", "reader")


def test_prune(f):
    day = 86400 * 10**6
    now = f.record()["run"]["started_us"]
    f.send(findings=[("1" * 16, 1)], started_us=now - 100 * day, commit="old")
    f.send(findings=[("2" * 16, 1)], started_us=now - 100 * day + 1, commit="old", name="kept")
    f.refhist("fleet", "accept", "2" * 16, "--why", "known", user="triage")
    f.send()
    done = f.refhist("fleet", "prune", "--older-than", "60", user="owner")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "thrown away: 2 runs of 2", "runs")
    equal({one["fingerprint"] for one in f.ask("findings", "--all")["findings"]}, {FINDING}, "findings")
    equal(f.server.sql("SELECT count(*) FROM refhist.finding", database="fleet"), "2", "what was accepted stays accepted")
    equal(len(f.ask("runs")["runs"]), 1, "runs")
    equal(f.refhist("fleet", "prune", "--older-than", "60").returncode, 1, "a reader may not")


main(globals())
