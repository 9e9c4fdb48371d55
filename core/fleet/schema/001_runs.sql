-- schema 1: runs, findings, and what a sender may do
CREATE SCHEMA refhist;
COMMENT ON SCHEMA refhist IS 'runs of refhist: docs/fleet.md';

DO $$
DECLARE
  role text;
BEGIN
  IF pg_catalog.getdatabaseencoding() <> 'UTF8' THEN
    RAISE EXCEPTION 'the database has the encoding %: make one with UTF8 (createdb -E UTF8 -T template0)',
      pg_catalog.getdatabaseencoding() USING ERRCODE = 'RH001';
  END IF;
  FOREACH role IN ARRAY ARRAY['refhist_sender', 'refhist_reader', 'refhist_triage'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role);
    END IF;
  END LOOP;
END $$;
GRANT USAGE ON SCHEMA refhist TO refhist_sender, refhist_reader, refhist_triage;

CREATE TABLE refhist.schema_version (
  version int PRIMARY KEY,
  refhist text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  applied_by text NOT NULL DEFAULT session_user
);

CREATE TABLE refhist.project (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE
);

-- The runs of one program (its run name) on one branch.
CREATE TABLE refhist.series (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project int NOT NULL REFERENCES refhist.project ON DELETE CASCADE,
  branch text NOT NULL,
  name text NOT NULL,
  runs bigint NOT NULL DEFAULT 0,  -- that could have shown a finding
  UNIQUE (project, branch, name)
);

-- Those of them at one commit.
CREATE TABLE refhist.point (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  series int NOT NULL REFERENCES refhist.series ON DELETE CASCADE,
  commit text NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  runs int NOT NULL DEFAULT 0,
  UNIQUE (series, commit)
);
CREATE INDEX point_in_order ON refhist.point (series, first_at);

CREATE TABLE refhist.finding (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project int NOT NULL REFERENCES refhist.project ON DELETE CASCADE,
  fingerprint text NOT NULL,
  verdict text NOT NULL,
  family text NOT NULL,
  title text NOT NULL,
  place text NOT NULL,
  detail jsonb NOT NULL,  -- the first example: docs/fleet.md
  UNIQUE (project, fingerprint)
);

-- A birthplace of objects, without its line: the same after an edit above it.
CREATE TABLE refhist.place (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project int NOT NULL REFERENCES refhist.project ON DELETE CASCADE,
  family text NOT NULL,
  made_by text NOT NULL,
  function text NOT NULL,
  file text NOT NULL,
  UNIQUE (project, family, function, file, made_by)
);

-- What a run has found is lists in its row: a run of 1,000 findings is one row. `fold` counts it into the tables below.
CREATE TABLE refhist.run (
  id uuid NOT NULL,
  started_at timestamptz NOT NULL,
  project int NOT NULL,
  point int NOT NULL,
  labels jsonb NOT NULL,
  host text NOT NULL,
  debugger text NOT NULL,
  refhist text NOT NULL,
  program text NOT NULL,
  arguments text NOT NULL,
  exit_status int,
  signal int,
  seconds double precision NOT NULL,
  events bigint NOT NULL,
  objects bigint NOT NULL,
  live bigint NOT NULL,
  lost_events bigint NOT NULL,
  complete boolean NOT NULL,
  failed text NOT NULL,
  failing int NOT NULL,
  findings int[] NOT NULL,
  alike bigint[] NOT NULL,
  places int[] NOT NULL,
  born bigint[] NOT NULL,
  live_at_end bigint[] NOT NULL,
  peak bigint[] NOT NULL,
  live_bytes bigint[] NOT NULL,
  peak_bytes bigint[] NOT NULL,
  sender text NOT NULL DEFAULT session_user,
  received_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (started_at, id)
) PARTITION BY RANGE (started_at);
CREATE INDEX run_by_id ON refhist.run (id);
CREATE INDEX run_by_time ON refhist.run (project, started_at DESC);
CREATE INDEX run_by_point ON refhist.run (point);

-- Runs that `fold` has not counted yet.
CREATE TABLE refhist.unfolded (
  run uuid NOT NULL,
  started_at timestamptz NOT NULL
);

-- Only fold() writes these two, many rows at a time: a check of each against its finding would cost more than the row.
CREATE TABLE refhist.finding_series (
  finding int NOT NULL,
  series int NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  runs_with bigint NOT NULL,
  runs_before bigint NOT NULL,  -- of the series, when it came up first
  runs_until bigint NOT NULL,   -- and when it was seen last
  needed bigint NOT NULL,       -- runs without it behind that which show that it is gone: runs_needed()
  PRIMARY KEY (finding, series)
);

CREATE TABLE refhist.finding_point (
  finding int NOT NULL,
  point int NOT NULL,
  runs_with int NOT NULL,
  most_alike bigint NOT NULL,
  PRIMARY KEY (finding, point)
);

-- What a sender copies before take_run() looks at it. It sees nothing of this table, not even its own rows, and the
-- column `transaction` is not its to write.
CREATE UNLOGGED TABLE refhist.incoming (
  transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
  kind "char" NOT NULL,  -- r: the run, f: a finding, p: a place
  key text,
  n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint,
  body text CHECK (octet_length(body) <= 262144)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX incoming_by_transaction ON refhist.incoming (transaction);
GRANT INSERT (kind, key, n1, n2, n3, n4, n5, body) ON refhist.incoming TO refhist_sender;

-- Why this text is not taken; null when it is. Control characters, marks of direction and line separators are what
-- refhist escapes before it sends.
CREATE FUNCTION refhist.text_fault(words text, most int) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN words IS NULL THEN 'is missing'
    WHEN length(words) > most THEN format('is longer than %s characters', most)
    WHEN words ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]'
      THEN 'has control characters'
  END
$$;

CREATE FUNCTION refhist.as_object(body text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  parsed jsonb;
BEGIN
  parsed := body::jsonb;
  IF jsonb_typeof(parsed) = 'object' THEN
    RETURN parsed;
  END IF;
  RETURN NULL;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

-- Control characters inside of JSON show as escapes once it is text again.
CREATE FUNCTION refhist.json_fault(parsed jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, refhist, pg_temp AS $$
  SELECT CASE WHEN replace(parsed::text, '\\', '') ~ '\\[bfnrtu]' THEN 'has control characters'
    ELSE refhist.text_fault(parsed::text, 300000) END
$$;

CREATE FUNCTION refhist.detail_fault(body text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  parsed jsonb := as_object(body);
  part record;
  fault text;
BEGIN
  IF parsed IS NULL THEN
    RETURN 'its description is no JSON object';
  END IF;
  FOR part IN SELECT * FROM (VALUES ('verdict', 40), ('family', 200), ('title', 1000), ('place', 1000)) AS p (key, most) LOOP
    fault := text_fault(CASE jsonb_typeof(parsed -> part.key) WHEN 'string' THEN parsed ->> part.key END, part.most);
    IF fault IS NOT NULL THEN
      RETURN part.key || ' ' || fault;
    END IF;
  END LOOP;
  IF parsed ->> 'verdict' !~ '^[a-z][a-z-]*$' THEN
    RETURN 'verdict is none';
  END IF;
  fault := json_fault(parsed);
  RETURN CASE WHEN fault IS NULL THEN NULL ELSE 'its description ' || fault END;
END $$;

CREATE FUNCTION refhist.refuse(reason text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'RH001';
END $$;

CREATE FUNCTION refhist.header_text(header jsonb, key text, most int) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  fault text := text_fault(CASE jsonb_typeof(header -> key) WHEN 'string' THEN header ->> key END, most);
BEGIN
  IF fault IS NOT NULL THEN
    PERFORM refuse(format('the run''s %s %s', key, fault));
  END IF;
  RETURN header ->> key;
END $$;

CREATE FUNCTION refhist.header_name(header jsonb, key text, most int) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
BEGIN
  IF header_text(header, key, most) = '' THEN
    PERFORM refuse(format('the run''s %s is empty', key));
  END IF;
  RETURN header ->> key;
END $$;

CREATE FUNCTION refhist.header_number(header jsonb, key text, lowest numeric, most numeric) RETURNS numeric
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  number numeric;
BEGIN
  IF jsonb_typeof(header -> key) = 'number' THEN
    number := (header ->> key)::numeric;
  END IF;
  IF number IS NULL OR number NOT BETWEEN lowest AND most THEN
    PERFORM refuse(format('the run''s %s is not between %s and %s', key, lowest, most));
  END IF;
  RETURN number;
END $$;

-- Whoever sends may not make partitions of any year. Whoever waits for the lock holds nothing of `run`.
CREATE FUNCTION refhist.expect_partition(at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  month timestamp := date_trunc('month', at AT TIME ZONE 'UTC');
  name text := 'run_' || to_char(month, 'YYYY_MM');
BEGIN
  IF at NOT BETWEEN now() - interval '400 days' AND now() + interval '1 day' THEN
    PERFORM refuse('the run began more than 400 days ago, or in the future: is the clock of its machine right?');
  END IF;
  IF to_regclass('refhist.' || name) IS NULL THEN
    PERFORM pg_advisory_xact_lock(7237, 1);
    -- to_regclass() may still answer from its cache what was so before the lock.
    IF NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = 'refhist'::regnamespace AND relname = name) THEN
      EXECUTE format('CREATE TABLE refhist.%I PARTITION OF refhist.run FOR VALUES FROM (%L) TO (%L)', name,
        month::text || '+00', (month + interval '1 month')::text || '+00');
    END IF;
  END IF;
END $$;

CREATE FUNCTION refhist.project_of(called text) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  found_id int;
BEGIN
  SELECT id INTO found_id FROM project WHERE name = called;
  IF found_id IS NULL THEN
    INSERT INTO project (name) VALUES (called) ON CONFLICT DO NOTHING;
    SELECT id INTO found_id FROM project WHERE name = called;
  END IF;
  RETURN found_id;
END $$;

CREATE FUNCTION refhist.point_of(in_project int, of_branch text, called text, at_commit text, at timestamptz) RETURNS int
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
  SELECT id INTO point_id FROM point WHERE series = series_id AND commit = at_commit;
  IF point_id IS NULL THEN
    INSERT INTO point (series, commit, first_at, last_at) VALUES (series_id, at_commit, at, at) ON CONFLICT DO NOTHING;
    SELECT id INTO point_id FROM point WHERE series = series_id AND commit = at_commit;
  END IF;
  RETURN point_id;
END $$;

-- Which of these fingerprints have to be described, since the project has not got them yet.
CREATE FUNCTION refhist.wanted(called text, fingerprints text[]) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
  SELECT given.fingerprint FROM unnest(fingerprints) AS given (fingerprint)
  WHERE NOT EXISTS (SELECT FROM finding f JOIN project p ON p.id = f.project
                    WHERE p.name = called AND f.fingerprint = given.fingerprint)
$$;

-- Takes what this transaction has copied into `incoming` as one run. The first row says "stored" or "already"; the
-- others say what was refused and why. A run as a whole is refused with SQLSTATE RH001.
-- What the statistics say of `incoming` is always wrong: its rows come and go.
CREATE FUNCTION refhist.take_run() RETURNS TABLE (state text, run uuid, reason text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  most_findings CONSTANT int := 5000;
  most_places CONSTANT int := 2000;
  this CONSTANT xid8 := pg_current_xact_id();
  header jsonb;
  headers int;
  run_id uuid;
  began timestamptz;
  project_id int;
  point_id int;
  labels jsonb;
  refused text[];
  found int[]; found_alike bigint[];
  place_ids int[]; p_born bigint[]; p_live bigint[]; p_peak bigint[]; p_live_bytes bigint[]; p_peak_bytes bigint[];
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
  IF EXISTS (SELECT FROM run r WHERE r.started_at = began AND r.id = run_id) THEN
    DELETE FROM incoming i WHERE i.transaction = this;
    RETURN QUERY SELECT 'already'::text, run_id, NULL::text;
    RETURN;
  END IF;
  point_id := point_of(project_id, header_name(header, 'branch', 200), header_name(header, 'name', 200),
    header ->> 'commit', began);

  -- In the order of their keys, so that senders wait for each other and never in a circle.
  INSERT INTO finding (project, fingerprint, verdict, family, title, place, detail)
  SELECT project_id, d.key, d.parsed ->> 'verdict', d.parsed ->> 'family', d.parsed ->> 'title', d.parsed ->> 'place', d.parsed
  FROM (SELECT DISTINCT ON (i.key) i.key, as_object(i.body) AS parsed FROM incoming i
        WHERE i.transaction = this AND i.kind = 'f' AND i.body IS NOT NULL AND i.key ~ '^[0-9a-f]{16}$'
          AND i.n1 BETWEEN 1 AND 1000000000000 AND detail_fault(i.body) IS NULL
        ORDER BY i.key LIMIT most_findings) d
  ORDER BY d.key ON CONFLICT DO NOTHING;

  WITH given AS MATERIALIZED (
    SELECT i.key, i.n1, i.body, row_number() OVER (ORDER BY i.key) AS number FROM incoming i
    WHERE i.transaction = this AND i.kind = 'f'),
  judged AS MATERIALIZED (
    SELECT g.*, f.id, CASE
        WHEN g.key IS NULL OR g.key !~ '^[0-9a-f]{16}$' THEN 'its fingerprint is not 16 hexadecimal digits'
        WHEN g.n1 IS NULL OR g.n1 NOT BETWEEN 1 AND 1000000000000 THEN 'its number of objects is not between 1 and 10^12'
        WHEN g.number > most_findings THEN format('the run has more than %s findings', most_findings)
        WHEN f.id IS NULL AND g.body IS NULL THEN 'nothing describes it'
        WHEN f.id IS NULL THEN detail_fault(g.body)
      END AS fault
    FROM given g LEFT JOIN finding f ON f.project = project_id AND f.fingerprint = g.key),
  good AS (SELECT j.id, sum(j.n1)::bigint AS alike FROM judged j WHERE j.fault IS NULL GROUP BY j.id)
  SELECT (SELECT coalesce(array_agg(g.id ORDER BY g.id), '{}') FROM good g),
         (SELECT coalesce(array_agg(g.alike ORDER BY g.id), '{}') FROM good g),
         (SELECT array_agg(format('finding %s: %s', coalesce(left(regexp_replace(j.key, '[^ -~]', '?', 'g'), 40), '(none)'), j.fault))
          FROM judged j WHERE j.fault IS NOT NULL)
  INTO found, found_alike, refused;

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
    SELECT DISTINCT project_id, j.family, j.function, j.file, j.made_by FROM judged j
    WHERE j.fault IS NULL AND NOT EXISTS (SELECT FROM place p WHERE p.project = project_id AND p.family = j.family
      AND p.function = j.function AND p.file = j.file AND p.made_by = j.made_by)
    ORDER BY 2, 3, 4, 5 ON CONFLICT DO NOTHING)
  SELECT refused || array_agg(format('place %s: %s', j.number, j.fault)) FILTER (WHERE j.fault IS NOT NULL)
  INTO refused FROM judged j;

  SELECT coalesce(array_agg(p.id), '{}'), coalesce(array_agg(p.n1), '{}'), coalesce(array_agg(p.n2), '{}'),
    coalesce(array_agg(p.n3), '{}'), coalesce(array_agg(p.n4), '{}'), coalesce(array_agg(p.n5), '{}')
  INTO place_ids, p_born, p_live, p_peak, p_live_bytes, p_peak_bytes
  FROM (SELECT p.id, sum(i.n1)::bigint AS n1, sum(i.n2)::bigint AS n2, sum(i.n3)::bigint AS n3, sum(i.n4)::bigint AS n4,
          sum(i.n5)::bigint AS n5
        FROM (SELECT as_object(i.body) AS parsed, i.* FROM incoming i WHERE i.transaction = this AND i.kind = 'p'
              ORDER BY i.body LIMIT most_places) i
        JOIN place p ON p.project = project_id AND p.family = i.parsed ->> 'family' AND p.function = i.parsed ->> 'function'
          AND p.file = i.parsed ->> 'file' AND p.made_by = i.parsed ->> 'by'
        WHERE least(i.n1, i.n2, i.n3, i.n4, i.n5) >= 0 AND greatest(i.n1, i.n2, i.n3, i.n4, i.n5) <= 1e15
          AND i.n1 + i.n2 + i.n3 + i.n4 + i.n5 IS NOT NULL
        GROUP BY p.id ORDER BY p.id) p;

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
    header_number(header, 'failing', 0, 1e6), found, found_alike, place_ids, p_born, p_live, p_peak, p_live_bytes, p_peak_bytes);
  INSERT INTO unfolded VALUES (run_id, began);
  DELETE FROM incoming i WHERE i.transaction = this;
  RETURN QUERY SELECT 'stored'::text, run_id, NULL::text;
  RETURN QUERY SELECT 'refused'::text, NULL::uuid, unnest(refused);
END $$;

-- How many runs without it show with 95% confidence that a finding is not there which `with_it` of `runs` had. One run more
-- is counted as clean: few runs prove little.
CREATE FUNCTION refhist.runs_needed(with_it bigint, runs bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT greatest(1, ceil(ln(0.05::float8) / ln(1 - least(with_it, runs)::float8 / (runs + 1))))::bigint
  WHERE with_it > 0 AND runs > 0
$$;

-- Counts runs into the tables of findings: up to 256 that are there, whoever has sent them. Returns their number, or -1 where
-- somebody else is at it, who asks again until there are none.
CREATE FUNCTION refhist.fold() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp SET jit = off AS $$
DECLARE
  most CONSTANT int := 256;
  runs uuid[];
  starts timestamptz[];
  number bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(7237, 2) THEN
    RETURN -1;
  END IF;
  WITH taken AS (
    DELETE FROM unfolded WHERE ctid = ANY (ARRAY(SELECT ctid FROM unfolded LIMIT most)) RETURNING run, started_at)
  SELECT array_agg(t.run), array_agg(t.started_at) INTO runs, starts FROM taken t;
  IF runs IS NULL THEN
    RETURN 0;
  END IF;
  WITH counted AS MATERIALIZED (
    SELECT r.id, r.started_at, r.point, p.series, r.findings, r.alike,
      s.runs + row_number() OVER (PARTITION BY p.series ORDER BY r.started_at, r.id) AS ordinal
    FROM unnest(runs, starts) AS t (id, started_at) JOIN run r ON r.started_at = t.started_at AND r.id = t.id
    JOIN point p ON p.id = r.point JOIN series s ON s.id = p.series
    WHERE r.failed = '' OR cardinality(r.findings) > 0),
  shown AS MATERIALIZED (
    SELECT c.started_at, c.point, c.series, c.ordinal, f.finding, f.alike
    FROM counted c, unnest(c.findings, c.alike) AS f (finding, alike)),
  by_series AS (
    INSERT INTO finding_series AS known (finding, series, first_at, last_at, runs_with, runs_before, runs_until, needed)
    SELECT finding, series, min(started_at), max(started_at), count(*), min(ordinal) - 1, max(ordinal),
      runs_needed(count(*), max(ordinal) - min(ordinal) + 1)
    FROM shown GROUP BY finding, series
    ON CONFLICT (finding, series) DO UPDATE SET first_at = least(known.first_at, excluded.first_at),
      last_at = greatest(known.last_at, excluded.last_at), runs_with = known.runs_with + excluded.runs_with,
      runs_until = excluded.runs_until,
      needed = runs_needed(known.runs_with + excluded.runs_with, excluded.runs_until - known.runs_before)),
  by_point AS (
    INSERT INTO finding_point AS known (finding, point, runs_with, most_alike)
    SELECT finding, point, count(*), max(alike) FROM shown GROUP BY finding, point
    ON CONFLICT (finding, point) DO UPDATE SET runs_with = known.runs_with + excluded.runs_with,
      most_alike = greatest(known.most_alike, excluded.most_alike)),
  points AS (
    UPDATE point SET runs = point.runs + c.n, first_at = least(point.first_at, c.first_at),
      last_at = greatest(point.last_at, c.last_at)
    FROM (SELECT point AS id, count(*) AS n, min(started_at) AS first_at, max(started_at) AS last_at FROM counted GROUP BY point) c
    WHERE point.id = c.id),
  all_series AS (
    UPDATE series SET runs = series.runs + c.n
    FROM (SELECT series AS id, count(*) AS n FROM counted GROUP BY series) c WHERE series.id = c.id)
  SELECT count(*) INTO number FROM counted;
  RETURN cardinality(runs);
END $$;

-- Functions are everybody's at first in PostgreSQL: here each says whose it is.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA refhist FROM PUBLIC;
GRANT SELECT ON refhist.schema_version, refhist.project, refhist.series, refhist.point, refhist.finding, refhist.place,
  refhist.run, refhist.unfolded, refhist.finding_series, refhist.finding_point TO refhist_reader, refhist_triage;
GRANT SELECT ON refhist.schema_version TO refhist_sender;
GRANT EXECUTE ON FUNCTION refhist.wanted(text, text[]), refhist.take_run(), refhist.fold() TO refhist_sender;
