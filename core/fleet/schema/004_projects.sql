-- schema 4: the project is in every key
-- All that a question or a run touches is of one project, and every key begins with it: a PostgreSQL that is distributed over
-- machines can be distributed by it.
-- The two big tables are written anew: an UPDATE of all rows would leave twice their size.
ALTER TABLE refhist.point ADD COLUMN project int;
UPDATE refhist.point p SET project = s.project FROM refhist.series s WHERE s.id = p.series;
ALTER TABLE refhist.judgement ADD COLUMN project int;
UPDATE refhist.judgement j SET project = f.project FROM refhist.finding f WHERE f.id = j.finding;
ALTER TABLE refhist.history ADD COLUMN project int;
UPDATE refhist.history h SET project = r.project FROM refhist.run r WHERE r.id = h.run;
DELETE FROM refhist.history WHERE project IS NULL;
ALTER TABLE refhist.unfolded ADD COLUMN project int;
UPDATE refhist.unfolded u SET project = r.project FROM refhist.run r WHERE r.started_at = u.started_at AND r.id = u.run;
DELETE FROM refhist.unfolded WHERE project IS NULL;
ALTER TABLE refhist.unfolded ALTER COLUMN project SET NOT NULL;

ALTER TABLE refhist.judgement DROP CONSTRAINT judgement_finding_fkey;
ALTER TABLE refhist.point DROP CONSTRAINT point_series_fkey;

ALTER TABLE refhist.series DROP CONSTRAINT series_pkey, ADD PRIMARY KEY (project, id);
ALTER TABLE refhist.finding DROP CONSTRAINT finding_pkey, ADD PRIMARY KEY (project, id);
ALTER TABLE refhist.place DROP CONSTRAINT place_pkey, ADD PRIMARY KEY (project, id);
ALTER TABLE refhist.point DROP CONSTRAINT point_pkey, DROP CONSTRAINT point_series_commit_key, ADD PRIMARY KEY (project, id),
  ADD UNIQUE (project, series, commit), ADD FOREIGN KEY (project, series) REFERENCES refhist.series ON DELETE CASCADE;
DROP INDEX refhist.point_in_order;
CREATE INDEX point_in_order ON refhist.point (project, series, first_at);
ALTER TABLE refhist.judgement DROP CONSTRAINT judgement_pkey, ADD PRIMARY KEY (project, finding, at),
  ADD FOREIGN KEY (project, finding) REFERENCES refhist.finding ON DELETE CASCADE;
ALTER TABLE refhist.history DROP CONSTRAINT history_pkey, ADD PRIMARY KEY (project, run, part);
-- The key serves the last runs of a project as well.
DROP INDEX refhist.run_by_id, refhist.run_by_time, refhist.run_by_point;
ALTER TABLE refhist.run DROP CONSTRAINT run_pkey, ADD PRIMARY KEY (project, started_at, id);
CREATE INDEX run_by_id ON refhist.run (project, id);
CREATE INDEX run_by_point ON refhist.run (project, point);

-- fold() changes the same rows again and again: room in each page keeps that out of the index.
CREATE TABLE refhist.finding_series_of_project (
  project int NOT NULL,
  finding int NOT NULL,
  series int NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  runs_with bigint NOT NULL,
  runs_before bigint NOT NULL,  -- of the series, when it came up first
  runs_until bigint NOT NULL,   -- and when it was seen last
  needed bigint NOT NULL        -- runs without it behind that which show that it is gone: runs_needed()
) WITH (fillfactor = 80);
INSERT INTO refhist.finding_series_of_project
  SELECT s.project, f.* FROM refhist.finding_series f JOIN refhist.series s ON s.id = f.series ORDER BY 1, f.finding, f.series;
DROP TABLE refhist.finding_series;
ALTER TABLE refhist.finding_series_of_project RENAME TO finding_series;
ALTER TABLE refhist.finding_series ADD PRIMARY KEY (project, finding, series);

CREATE TABLE refhist.finding_point_of_project (
  project int NOT NULL,
  finding int NOT NULL,
  point int NOT NULL,
  runs_with int NOT NULL,
  most_alike bigint NOT NULL
) WITH (fillfactor = 80);
INSERT INTO refhist.finding_point_of_project
  SELECT p.project, f.* FROM refhist.finding_point f JOIN refhist.point p ON p.id = f.point ORDER BY 1, f.finding, f.point;
DROP TABLE refhist.finding_point;
ALTER TABLE refhist.finding_point_of_project RENAME TO finding_point;
ALTER TABLE refhist.finding_point ADD PRIMARY KEY (project, finding, point);
GRANT SELECT ON refhist.finding_series, refhist.finding_point TO refhist_reader, refhist_triage;

DROP VIEW refhist.verdict;
CREATE VIEW refhist.verdict AS
  SELECT DISTINCT ON (project, finding) project, finding, at, by, accepted, why FROM refhist.judgement
  ORDER BY project, finding, at DESC;
GRANT SELECT ON refhist.verdict TO refhist_reader, refhist_triage;

CREATE OR REPLACE FUNCTION refhist.point_of(in_project int, of_branch text, called text, at_commit text, at timestamptz) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  series_id int;
  point_id int;
BEGIN
  SELECT id INTO series_id FROM series WHERE project = in_project AND branch = of_branch AND name = called;
  IF series_id IS NULL THEN
    INSERT INTO series (project, branch, name) VALUES (in_project, of_branch, called) ON CONFLICT DO NOTHING;
    SELECT id INTO series_id FROM series WHERE project = in_project AND branch = of_branch AND name = called;
  END IF;
  SELECT id INTO point_id FROM point WHERE project = in_project AND series = series_id AND commit = at_commit;
  IF point_id IS NULL THEN
    INSERT INTO point (project, series, commit, first_at, last_at) VALUES (in_project, series_id, at_commit, at, at)
    ON CONFLICT DO NOTHING;
    SELECT id INTO point_id FROM point WHERE project = in_project AND series = series_id AND commit = at_commit;
  END IF;
  RETURN point_id;
END $$;

-- These two are asked for each row. Without settings of their own they become part of the statement, which has a fixed search
-- path in the functions that use them; a call costs more than what it does.
CREATE OR REPLACE FUNCTION refhist.text_fault(words text, most int) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN words IS NULL THEN 'is missing'
    WHEN length(words) > most THEN 'is longer than ' || most::text || ' characters'
    WHEN words ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]'
      THEN 'has control characters'
  END
$$;
CREATE OR REPLACE FUNCTION refhist.runs_needed(with_it bigint, runs bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN with_it > 0 AND runs > 0
    THEN greatest(1, ceil(ln(0.05::float8) / ln(1 - least(with_it, runs)::float8 / (runs + 1))))::bigint END
$$;

-- Which of these fingerprints have to be described, since the project has not got them yet.
CREATE OR REPLACE FUNCTION refhist.wanted(called text, fingerprints text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  project_id int;
BEGIN
  SELECT p.id INTO project_id FROM project p WHERE p.name = called;
  RETURN QUERY SELECT given.fingerprint FROM unnest(fingerprints) AS given (fingerprint)
    WHERE NOT EXISTS (SELECT FROM finding f WHERE f.project = project_id AND f.fingerprint = given.fingerprint);
END $$;

-- What this transaction has copied of findings: their ids in order, how many objects each, and what is refused.
CREATE FUNCTION refhist.take_findings(in_project int, OUT ids int[], OUT alike bigint[], OUT refused text[])
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  most_findings CONSTANT int := 5000;
  this CONSTANT xid8 := pg_current_xact_id();
BEGIN
  -- In the order of their keys, so that senders wait for each other and never in a circle.
  INSERT INTO finding (project, fingerprint, verdict, family, title, place, detail)
  SELECT in_project, d.key, d.parsed ->> 'verdict', d.parsed ->> 'family', d.parsed ->> 'title', d.parsed ->> 'place', d.parsed
  FROM (SELECT DISTINCT ON (i.key) i.key, as_object(i.body) AS parsed FROM incoming i
        WHERE i.transaction = this AND i.kind = 'f' AND i.body IS NOT NULL AND i.key ~ '^[0-9a-f]{16}$'
          AND i.n1 BETWEEN 1 AND 1000000000000 AND detail_fault(i.body) IS NULL
        ORDER BY i.key LIMIT most_findings) d
  ORDER BY d.key ON CONFLICT DO NOTHING;

  WITH judged AS MATERIALIZED (
    SELECT g.*, f.id, CASE
        WHEN g.key IS NULL OR length(g.key) <> 16 OR ltrim(g.key, '0123456789abcdef') <> ''
          THEN 'its fingerprint is not 16 hexadecimal digits'
        WHEN g.n1 IS NULL OR g.n1 NOT BETWEEN 1 AND 1000000000000 THEN 'its number of objects is not between 1 and 10^12'
        WHEN g.number > most_findings THEN format('the run has more than %s findings', most_findings)
        WHEN f.id IS NULL AND g.body IS NULL THEN 'nothing describes it'
        WHEN f.id IS NULL THEN detail_fault(g.body)
      END AS fault
    FROM (SELECT i.key, i.n1, i.body, row_number() OVER (ORDER BY i.key) AS number FROM incoming i
          WHERE i.transaction = this AND i.kind = 'f') g
    LEFT JOIN finding f ON f.project = in_project AND f.fingerprint = g.key),
  good AS (SELECT j.id, sum(j.n1)::bigint AS alike FROM judged j WHERE j.fault IS NULL AND j.id IS NOT NULL GROUP BY j.id)
  SELECT (SELECT coalesce(array_agg(g.id ORDER BY g.id), '{}') FROM good g),
         (SELECT coalesce(array_agg(g.alike ORDER BY g.id), '{}') FROM good g),
         (SELECT array_agg(format('finding %s: %s', coalesce(left(regexp_replace(j.key, '[^ -~]', '?', 'g'), 40), '(none)'), j.fault))
          FROM judged j WHERE j.fault IS NOT NULL)
  INTO ids, alike, refused;
END $$;

-- The same of places, with their numbers.
CREATE FUNCTION refhist.take_places(in_project int, OUT ids int[], OUT born bigint[], OUT live bigint[], OUT peak bigint[],
  OUT live_bytes bigint[], OUT peak_bytes bigint[], OUT refused text[])
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  most_places CONSTANT int := 2000;
  this CONSTANT xid8 := pg_current_xact_id();
BEGIN
  WITH given AS MATERIALIZED (
    SELECT as_object(i.body) AS parsed, i.n1, i.n2, i.n3, i.n4, i.n5, row_number() OVER (ORDER BY i.body) AS number
    FROM incoming i WHERE i.transaction = this AND i.kind = 'p'),
  judged AS MATERIALIZED (
    SELECT g.*, g.parsed ->> 'family' AS family, g.parsed ->> 'by' AS made_by, g.parsed ->> 'function' AS function,
      g.parsed ->> 'file' AS file, CASE
        WHEN g.parsed IS NULL THEN 'its description is no JSON object'
        WHEN g.number > most_places THEN format('the run has more than %s places', most_places)
        WHEN least(g.n1, g.n2, g.n3, g.n4, g.n5) < 0 OR greatest(g.n1, g.n2, g.n3, g.n4, g.n5) > 1e15
          OR g.n1 + g.n2 + g.n3 + g.n4 + g.n5 IS NULL THEN 'its numbers are not between 0 and 10^15'
        ELSE coalesce(text_fault(g.parsed ->> 'family', 200), text_fault(g.parsed ->> 'by', 500),
          text_fault(g.parsed ->> 'function', 500), text_fault(g.parsed ->> 'file', 500))
      END AS fault
    FROM given g),
  made AS (
    INSERT INTO place (project, family, function, file, made_by)
    SELECT DISTINCT in_project, j.family, j.function, j.file, j.made_by FROM judged j
    WHERE j.fault IS NULL AND NOT EXISTS (SELECT FROM place p WHERE p.project = in_project AND p.family = j.family
      AND p.function = j.function AND p.file = j.file AND p.made_by = j.made_by)
    ORDER BY 2, 3, 4, 5 ON CONFLICT DO NOTHING)
  SELECT array_agg(format('place %s: %s', j.number, j.fault)) FILTER (WHERE j.fault IS NOT NULL)
  INTO refused FROM judged j;

  SELECT coalesce(array_agg(p.id), '{}'), coalesce(array_agg(p.n1), '{}'), coalesce(array_agg(p.n2), '{}'),
    coalesce(array_agg(p.n3), '{}'), coalesce(array_agg(p.n4), '{}'), coalesce(array_agg(p.n5), '{}')
  INTO ids, born, live, peak, live_bytes, peak_bytes
  FROM (SELECT p.id, sum(i.n1)::bigint AS n1, sum(i.n2)::bigint AS n2, sum(i.n3)::bigint AS n3, sum(i.n4)::bigint AS n4,
          sum(i.n5)::bigint AS n5
        FROM (SELECT as_object(i.body) AS parsed, i.* FROM incoming i WHERE i.transaction = this AND i.kind = 'p'
              ORDER BY i.body LIMIT most_places) i
        JOIN place p ON p.project = in_project AND p.family = i.parsed ->> 'family' AND p.function = i.parsed ->> 'function'
          AND p.file = i.parsed ->> 'file' AND p.made_by = i.parsed ->> 'by'
        WHERE least(i.n1, i.n2, i.n3, i.n4, i.n5) >= 0 AND greatest(i.n1, i.n2, i.n3, i.n4, i.n5) <= 1e15
          AND i.n1 + i.n2 + i.n3 + i.n4 + i.n5 IS NOT NULL
        GROUP BY p.id ORDER BY p.id) p;
END $$;

-- Takes what this transaction has copied into `incoming` as one run. The first row says "stored" or "already"; the
-- others say what was refused and why. A run as a whole is refused with SQLSTATE RH001.
-- What the statistics say of `incoming` is always wrong: its rows come and go.
CREATE OR REPLACE FUNCTION refhist.take_run() RETURNS TABLE (state text, run uuid, reason text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  this CONSTANT xid8 := pg_current_xact_id();
  header jsonb;
  headers int;
  run_id uuid;
  began timestamptz;
  project_id int;
  point_id int;
  labels jsonb;
  f record;
  p record;
BEGIN
  SELECT count(*), as_object(min(i.body)) INTO headers, header FROM incoming i WHERE i.transaction = this AND i.kind = 'r';
  IF headers <> 1 OR header IS NULL THEN
    PERFORM refuse('what was sent does not begin with one run');
  END IF;
  PERFORM header_number(header, 'protocol', 1, 1);
  began := 'epoch'::timestamptz + header_number(header, 'started_us', 0, 1e17)::bigint * interval '1 microsecond';
  labels := coalesce(header -> 'labels', '{}');
  IF jsonb_typeof(labels) <> 'object' OR length(labels::text) > 4000 OR json_fault(labels) IS NOT NULL THEN
    PERFORM refuse('the run''s labels are no object of at most 4000 characters without control characters');
  END IF;
  PERFORM expect_partition(began);
  -- The database names the run itself: whoever sends cannot take another run's place.
  run_id := md5(concat_ws(E'\x1f', header_name(header, 'project', 200), header_name(header, 'host', 255), began::text,
    header_text(header, 'arguments', 8000), header_text(header, 'commit', 200), header_number(header, 'pid', 0, 1e10)))::uuid;
  project_id := project_of(header ->> 'project');
  PERFORM pg_advisory_xact_lock(hashtextextended(run_id::text, 7237));  -- sent twice at once
  IF EXISTS (SELECT FROM run r WHERE r.project = project_id AND r.started_at = began AND r.id = run_id) THEN
    DELETE FROM incoming i WHERE i.transaction = this;
    RETURN QUERY SELECT 'already'::text, run_id, NULL::text;
    RETURN;
  END IF;
  point_id := point_of(project_id, header_name(header, 'branch', 200), header_name(header, 'name', 200),
    header ->> 'commit', began);
  f := take_findings(project_id);
  p := take_places(project_id);
  INSERT INTO run (id, started_at, project, point, labels, host, debugger, refhist, program, arguments, exit_status, signal,
    seconds, events, objects, live, lost_events, complete, failed, failing, findings, alike, places, born, live_at_end, peak,
    live_bytes, peak_bytes)
  VALUES (run_id, began, project_id, point_id, labels, header ->> 'host', header_text(header, 'debugger', 40),
    header_text(header, 'refhist', 40), header_text(header, 'program', 1000), header ->> 'arguments',
    CASE WHEN jsonb_typeof(header -> 'exit_status') = 'number' THEN header_number(header, 'exit_status', -1000, 1000) END,
    CASE WHEN jsonb_typeof(header -> 'signal') = 'number' THEN header_number(header, 'signal', 0, 1000) END,
    header_number(header, 'seconds', 0, 1e8), header_number(header, 'events', 0, 1e15), header_number(header, 'objects', 0, 1e15),
    header_number(header, 'live', 0, 1e15), header_number(header, 'lost_events', 0, 1e15),
    coalesce(header -> 'complete' = 'true', false), header_text(header, 'failed', 1000),
    header_number(header, 'failing', 0, 1e6), f.ids, f.alike, p.ids, p.born, p.live, p.peak, p.live_bytes, p.peak_bytes);
  INSERT INTO unfolded (project, run, started_at) VALUES (project_id, run_id, began);
  DELETE FROM incoming i WHERE i.transaction = this;
  RETURN QUERY SELECT 'stored'::text, run_id, NULL::text;
  RETURN QUERY SELECT 'refused'::text, NULL::uuid, unnest(f.refused || p.refused);
END $$;

-- Counts up to 256 runs of one project into the tables of findings. Returns their number.
CREATE FUNCTION refhist.fold_project(this int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  most CONSTANT int := 256;
  runs uuid[];
  starts timestamptz[];
BEGIN
  WITH taken AS (
    DELETE FROM unfolded WHERE ctid = ANY (ARRAY(SELECT u.ctid FROM unfolded u WHERE u.project = this LIMIT most))
    RETURNING run, started_at)
  SELECT array_agg(t.run), array_agg(t.started_at) INTO runs, starts FROM taken t;
  WITH counted AS MATERIALIZED (
    SELECT r.id, r.started_at, r.point, p.series, r.findings, r.alike,
      s.runs + row_number() OVER (PARTITION BY p.series ORDER BY r.started_at, r.id) AS ordinal
    FROM unnest(runs, starts) AS t (id, started_at)
    JOIN run r ON r.project = this AND r.started_at = t.started_at AND r.id = t.id
    JOIN point p ON p.project = this AND p.id = r.point JOIN series s ON s.project = this AND s.id = p.series
    WHERE r.failed = '' OR cardinality(r.findings) > 0),
  shown AS MATERIALIZED (
    SELECT c.started_at, c.point, c.series, c.ordinal, f.finding, f.alike
    FROM counted c, unnest(c.findings, c.alike) AS f (finding, alike)),
  by_series AS (
    INSERT INTO finding_series AS known (project, finding, series, first_at, last_at, runs_with, runs_before, runs_until, needed)
    SELECT this, finding, series, min(started_at), max(started_at), count(*), min(ordinal) - 1, max(ordinal),
      runs_needed(count(*), max(ordinal) - min(ordinal) + 1)
    FROM shown GROUP BY finding, series
    ON CONFLICT (project, finding, series) DO UPDATE SET first_at = least(known.first_at, excluded.first_at),
      last_at = greatest(known.last_at, excluded.last_at), runs_with = known.runs_with + excluded.runs_with,
      runs_until = excluded.runs_until,
      needed = runs_needed(known.runs_with + excluded.runs_with, excluded.runs_until - known.runs_before)),
  by_point AS (
    INSERT INTO finding_point AS known (project, finding, point, runs_with, most_alike)
    SELECT this, finding, point, count(*), max(alike) FROM shown GROUP BY finding, point
    ON CONFLICT (project, finding, point) DO UPDATE SET runs_with = known.runs_with + excluded.runs_with,
      most_alike = greatest(known.most_alike, excluded.most_alike)),
  points AS (
    UPDATE point SET runs = point.runs + c.n, first_at = least(point.first_at, c.first_at),
      last_at = greatest(point.last_at, c.last_at)
    FROM (SELECT point AS id, count(*) AS n, min(started_at) AS first_at, max(started_at) AS last_at FROM counted GROUP BY point) c
    WHERE point.project = this AND point.id = c.id)
  UPDATE series SET runs = series.runs + c.n
  FROM (SELECT series AS id, count(*) AS n FROM counted GROUP BY series) c WHERE series.project = this AND series.id = c.id;
  RETURN coalesce(cardinality(runs), 0);
END $$;

-- Counts runs of a project for which nobody else is at it, whoever has sent them. Returns their number, or -1 where somebody
-- is at it, who asks again until there are none.
CREATE OR REPLACE FUNCTION refhist.fold() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp SET jit = off AS $$
DECLARE
  this int;
  number bigint;
  busy bigint := 0;
BEGIN
  FOR this IN SELECT DISTINCT u.project FROM unfolded u LOOP
    IF pg_try_advisory_xact_lock(7238, this) THEN
      number := fold_project(this);
      IF number > 0 THEN
        RETURN number;
      END IF;
    ELSE
      busy := -1;
    END IF;
  END LOOP;
  RETURN busy;
END $$;

CREATE OR REPLACE FUNCTION refhist.judge(called text, which text, accepted boolean, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  project_id int;
  found_id int;
  fault text := text_fault(why, 1000);
BEGIN
  IF fault IS NOT NULL THEN
    PERFORM refuse('the reason ' || fault);
  END IF;
  SELECT p.id INTO project_id FROM project p WHERE p.name = called;
  SELECT f.id INTO found_id FROM finding f WHERE f.project = project_id AND f.fingerprint = which;
  IF found_id IS NULL THEN
    PERFORM refuse(format('no finding %s in the project %s', which, called));
  END IF;
  INSERT INTO judgement (project, finding, accepted, why) VALUES (project_id, found_id, judge.accepted, judge.why);
END $$;

-- Which of these fingerprints the branch's runs have, or somebody has accepted. It tells of those that it is given and
-- of no others.
CREATE OR REPLACE FUNCTION refhist.seen_on(called text, of_branch text, fingerprints text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  this int;
BEGIN
  SELECT p.id INTO this FROM project p WHERE p.name = called;
  IF NOT EXISTS (SELECT FROM series s WHERE s.project = this AND s.branch = of_branch) THEN
    PERFORM refuse(format('the project %s has no runs on the branch %s yet', called, of_branch));
  END IF;
  RETURN QUERY SELECT f.fingerprint FROM finding f WHERE f.project = this AND f.fingerprint = ANY (fingerprints)
    AND (EXISTS (SELECT FROM finding_series fs JOIN series s ON s.project = this AND s.id = fs.series
                 WHERE fs.project = this AND fs.finding = f.id AND s.branch = of_branch)
         OR EXISTS (SELECT FROM verdict v WHERE v.project = this AND v.finding = f.id AND v.accepted));
END $$;

-- One part of a run's history, in the transaction that sends the run: until its end the run waits to be counted, and only
-- this transaction sees it. That tells its project.
CREATE OR REPLACE FUNCTION refhist.add_history(of_run uuid, began timestamptz, number int, content bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  this int;
BEGIN
  SELECT u.project INTO this FROM unfolded u WHERE u.run = of_run AND u.started_at = began
    AND u.xmin::text = (pg_current_xact_id()::text::numeric % 4294967296)::text;
  IF this IS NULL THEN
    PERFORM refuse('a history comes with its run, in one transaction');
  END IF;
  IF number NOT BETWEEN 0 AND 255 OR octet_length(content) NOT BETWEEN 1 AND 1048576 THEN
    PERFORM refuse('a history has at most 256 parts of 1 MiB');
  END IF;
  INSERT INTO history (project, run, part, bytes) VALUES (this, of_run, number, content);
END $$;

-- Returns one line for each thing that was thrown away. Whole months of runs, what only they had, and histories that are
-- older than `histories`.
CREATE OR REPLACE FUNCTION refhist.prune(runs interval, histories interval) RETURNS SETOF text
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  partition record;
  number bigint;
  cut timestamptz := date_trunc('month', (now() - runs) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
BEGIN
  PERFORM pg_advisory_xact_lock(7239);  -- two would wait for each other's projects
  WHILE fold() <> 0 LOOP
    PERFORM pg_sleep(0.05);
  END LOOP;
  DELETE FROM history h WHERE h.received_at < now() - histories;
  GET DIAGNOSTICS number = ROW_COUNT;
  RETURN NEXT format('%s parts of histories', number);
  FOR partition IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'refhist.run'::regclass
      AND c.relname < 'run_' || to_char(cut AT TIME ZONE 'UTC', 'YYYY_MM') ORDER BY 1 LOOP
    EXECUTE format('SELECT count(*) FROM refhist.%I', partition.relname) INTO number;
    EXECUTE format('DELETE FROM refhist.history h USING refhist.%I r WHERE h.project = r.project AND h.run = r.id', partition.relname);
    EXECUTE format('DROP TABLE refhist.%I', partition.relname);
    RETURN NEXT format('%s runs of %s', number, replace(substr(partition.relname, 5), '_', '-'));
  END LOOP;
  DELETE FROM point p WHERE p.last_at < cut AND NOT EXISTS (SELECT FROM run r WHERE r.project = p.project AND r.point = p.id);
  GET DIAGNOSTICS number = ROW_COUNT;
  DELETE FROM finding_point fp WHERE NOT EXISTS (SELECT FROM point p WHERE p.project = fp.project AND p.id = fp.point);
  RETURN NEXT format('%s commits', number);
  DELETE FROM finding_series f WHERE f.last_at < cut;
  DELETE FROM finding f WHERE NOT EXISTS (SELECT FROM finding_series fs WHERE fs.project = f.project AND fs.finding = f.id)
    AND NOT EXISTS (SELECT FROM judgement j WHERE j.project = f.project AND j.finding = f.id);
  GET DIAGNOSTICS number = ROW_COUNT;
  RETURN NEXT format('%s findings', number);
  DELETE FROM incoming i WHERE i.transaction < pg_snapshot_xmin(pg_current_snapshot());  -- of senders that took no run
END $$;

-- Functions are everybody's at first in PostgreSQL: here each says whose it is.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA refhist FROM PUBLIC;
