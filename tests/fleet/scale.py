"""A month of a big project in the database, and how long the questions and sending take then. Takes minutes; not a test.

usage: scale.py --build DIR [--runs N] [--explain]

The month: 10,000 runs a day for 30 days (or as many as --runs says), 50 run names, 21 branches (60% of the runs on main), 40
commits a day on each name, 2,000 findings of which each belongs to one run name; a run has 10 of them on average. The runs are
put into the tables as take_run() does it, 256 at a time, and counted by fold().
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time

from fleet_harness import Fleet
from server import Server

_PREPARE = """
SET search_path = refhist, pg_catalog;
INSERT INTO project (name) VALUES ('p');
SELECT expect_partition(now() - n * interval '1 day') FROM generate_series(0, 31) n;
INSERT INTO series (project, branch, name) SELECT 1, b, 'suite' || n FROM unnest(ARRAY['main'] || ARRAY(SELECT 'topic' || t FROM generate_series(1, 20) t)) b,
  generate_series(0, 49) n;
INSERT INTO finding (project, fingerprint, verdict, family, title, place, detail)
  SELECT 1, lpad(to_hex(n), 16, '0'), 'leak', 'conn', 'leak of conn born in function_' || n || ' (file_' || n % 100 || '.c:' || n || ')', 'file.c:' || n,
    jsonb_build_object('lines', ARRAY['1 conn leaked'], 'example', repeat(md5(n::text), 60)) FROM generate_series(0, 1999) n;
INSERT INTO place (project, family, made_by, function, file) SELECT 1, 'conn', 'conn_new', 'f' || n, 'a.c' FROM generate_series(0, 499) n;
"""

# Run number i of all: name i % 50; the commit changes 40 times a day.
_RUNS = """
SET search_path = refhist, pg_catalog;
WITH r AS (
  SELECT i, now() - interval '30 days' + i * (interval '30 days' / {all}) AS at, i % 50 AS name,
    CASE WHEN hashint4(i) & 1023 < 614 THEN 'main' ELSE 'topic' || 1 + (hashint4(i) & 2147483647) % 20 END AS branch
  FROM generate_series({first}, {last}) i),
s AS (SELECT r.*, s.id AS series, 'commit' || floor(extract(epoch FROM r.at) / 2160)::bigint AS commit FROM r
      JOIN series s ON s.branch = r.branch AND s.name = 'suite' || r.name),
p AS (INSERT INTO point (project, series, commit, first_at, last_at) SELECT 1, series, commit, min(at), max(at) FROM s GROUP BY 2, 3
      ON CONFLICT (project, series, commit) DO UPDATE SET last_at = greatest(point.last_at, excluded.last_at) RETURNING id, series, commit),
made AS (
  INSERT INTO run (id, started_at, project, point, labels, host, debugger, refhist, program, arguments, exit_status, seconds, events, objects, live,
    lost_events, complete, failed, failing, findings, alike, places, born, live_at_end, peak, live_bytes, peak_bytes)
  SELECT md5(s.i::text)::uuid, s.at, 1, p.id, '{{}}', 'host' || s.i % 64, 'gdb', '0.1.0', '/builds/p/suite', 'suite', 0, 2, 10000, 500, 20, 0, true, '', 1,
    f.ids, f.alike, g.ids, g.ones, g.live, g.ones, g.live, g.ones
  FROM s JOIN p ON p.series = s.series AND p.commit = s.commit
  CROSS JOIN LATERAL (SELECT coalesce(array_agg(n ORDER BY n), '{{}}') AS ids, coalesce(array_agg(1::bigint), '{{}}') AS alike
    FROM (SELECT 1 + s.name + 50 * k AS n FROM generate_series(0, 39) k WHERE hashint8(s.i::bigint * 64 + k) & 3 = 0) n) f
  CROSS JOIN LATERAL (SELECT array_agg(1 + s.name * 10 + k) AS ids, array_agg(10::bigint) AS ones, array_agg((s.i / 1000 + k)::bigint) AS live
    FROM generate_series(0, 9) k) g
  RETURNING id, started_at)
INSERT INTO unfolded (project, run, started_at) SELECT 1, id, started_at FROM made;
SELECT fold();
"""


def fill(server, runs):
    server.sql(_PREPARE, database="fleet")
    start = time.time()
    for first in range(0, runs, 256 * 20):
        batches = [_RUNS.format(all=runs, first=at, last=min(at + 255, runs - 1)) for at in range(first, min(first + 256 * 20, runs), 256)]
        server.sql(*batches, database="fleet")
    server.sql("VACUUM ANALYZE", database="fleet")
    runs = int(server.sql("SELECT count(*) FROM refhist.run", database="fleet"))
    print(f"{runs} runs put in and counted in {time.time() - start:.0f} s", flush=True)


def sizes(server):
    rows = server.sql("SELECT CASE WHEN relname LIKE 'run\\_2%' THEN 'run' ELSE relname END, sum(n_live_tup), sum(pg_total_relation_size(relid)) "
                      "FROM pg_stat_user_tables GROUP BY 1 HAVING sum(pg_total_relation_size(relid)) > 1000000 ORDER BY 3 DESC", database="fleet")
    print("| table | rows | MB with indexes |\n|---|---|---|")
    for row in rows.splitlines():
        name, number, size = row.split("|")
        print(f"| `{name}` | {int(number):,} | {int(size) / 1e6:.0f} |")


def timed(ask, times=15):
    taken = []
    for _ in range(times):
        start = time.time()
        ask()
        taken.append((time.time() - start) * 1000)
    return statistics.median(taken), max(taken)


class Log:
    """What the server has taken for statements, as its log tells."""

    def __init__(self, server):
        self.path = os.path.join(server.folder, "log")
        self.milliseconds()

    def milliseconds(self):
        """Since the last time."""
        with open(self.path, encoding="utf-8", errors="replace") as file:
            file.seek(getattr(self, "at", 0))
            text = file.read()
            self.at = file.tell()
        return sum(float(number) for number in re.findall(r"duration: ([0-9.]+) ms", text))


def questions(f):
    log = Log(f.server)
    print("| question | in the database, median | most | the whole command, median |\n|---|---|---|---|")
    for words in (["findings"], ["findings", "--branch", "main"], ["since", "0000000000000010"], ["show", "0000000000000010"], ["growth", "--branch", "main"],
                  ["runs"]):
        inside = []
        log.milliseconds()

        def ask(w=words, into=inside):
            f.ask(*w)
            into.append(log.milliseconds())

        median, _ = timed(ask)
        print(f"| `refhist fleet {' '.join(words)}` | {statistics.median(inside):.0f} ms | {max(inside):.0f} ms | {median:.0f} ms |", flush=True)
    f.server.sql("ALTER SYSTEM SET log_min_duration_statement = -1", "SELECT pg_reload_conf()")


def plans(server):
    for name, statement in (("findings", _FINDINGS), ("since", _SINCE)):
        plan = [server.sql("EXPLAIN (ANALYZE, COSTS OFF, SUMMARY) " + statement, database="fleet") for _ in range(3)][-1]
        print(f"plan of {name}, the third time:\n{plan}", flush=True)


_FINDINGS = """SELECT fs.finding, min(fs.first_at), bool_or(s.runs - fs.runs_until < fs.needed)
FROM refhist.finding_series fs JOIN refhist.series s ON s.project = 1 AND s.id = fs.series WHERE fs.project = 1 GROUP BY fs.finding"""

_SINCE = """SELECT p.commit, min(p.first_at), sum(p.runs), sum(coalesce(fp.runs_with, 0))
FROM refhist.finding x JOIN refhist.finding_series fs ON fs.project = x.project AND fs.finding = x.id
JOIN refhist.series s ON s.project = fs.project AND s.id = fs.series JOIN refhist.point p ON p.project = s.project AND p.series = s.id
LEFT JOIN refhist.finding_point fp ON fp.project = x.project AND fp.point = p.id AND fp.finding = x.id
WHERE x.project = 1 AND x.fingerprint = '0000000000000010' AND s.branch = 'main' AND p.runs > 0 GROUP BY p.commit"""


def processor_seconds(server):
    """What the server's connections that have ended took, and what the programs that this script has run took."""
    with open(os.path.join(server.data, "postmaster.pid"), encoding="ascii") as file:
        postmaster = file.readline().strip()
    with open(f"/proc/{postmaster}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    ours = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK"), ours.ru_utime + ours.ru_stime


def sending(f):
    bench = os.path.join(f.build, "tests", "fleet", "fleet_send_bench")
    for senders, runs, pause in (("1", "20", "0"), ("64", "3", "20"), ("64", "5", "0")):
        print(f"{'one after the other' if pause == '0' else f'a run every {pause} s from each'}:", flush=True)
        before = processor_seconds(f.server)
        subprocess.run([bench, f.server.url("sender"), senders, runs, "1000", pause], check=True)
        f.server.wait_for("SELECT count(*) FROM pg_stat_activity WHERE usename = 'sender'", "0")
        taken = [(after - begun) * 1000 / int(senders) / int(runs) for begun, after in zip(before, processor_seconds(f.server))]
        print(f"of a processor, a run: {taken[0]:.1f} ms in the database, {taken[1]:.1f} ms in the senders", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=300_000)
    parser.add_argument("--explain", action="store_true")
    options = parser.parse_args()
    server = Server(["fsync=on", "shared_buffers=1GB", "max_wal_size=4GB", "work_mem=32MB"])
    try:
        with tempfile.TemporaryDirectory(prefix="refhist-fleet-scale-") as folder:
            f = Fleet(options.build, server, folder)
            f.new_database()
            fill(server, options.runs)
            sizes(server)
            server.sql("ALTER SYSTEM SET log_min_duration_statement = 0", "SELECT pg_reload_conf()")
            questions(f)
            if options.explain:
                plans(server)
            sending(f)
    finally:
        server.stop()


main()
