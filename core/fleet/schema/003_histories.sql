-- schema 3: whole histories, and throwing away what is old
CREATE TABLE refhist.history (
  run uuid NOT NULL,
  part int NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  bytes bytea NOT NULL,  -- of one Zstandard frame
  PRIMARY KEY (run, part)
);
ALTER TABLE refhist.history ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE INDEX history_by_time ON refhist.history (received_at);

-- One part of a run's history, in the transaction that sends the run.
CREATE FUNCTION refhist.add_history(of_run uuid, began timestamptz, number int, content bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM run r WHERE r.started_at = began AND r.id = of_run
                 AND r.xmin::text = (pg_current_xact_id()::text::numeric % 4294967296)::text) THEN
    PERFORM refuse('a history comes with its run, in one transaction');
  END IF;
  IF number NOT BETWEEN 0 AND 255 OR octet_length(content) NOT BETWEEN 1 AND 1048576 THEN
    PERFORM refuse('a history has at most 256 parts of 1 MiB');
  END IF;
  INSERT INTO history (run, part, bytes) VALUES (of_run, number, content);
END $$;

-- Returns one line for each thing that was thrown away. Whole months of runs, what only they had, and histories that are
-- older than `histories`.
CREATE FUNCTION refhist.prune(runs interval, histories interval) RETURNS SETOF text
LANGUAGE plpgsql SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  partition record;
  number bigint;
  cut timestamptz := date_trunc('month', (now() - runs) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
BEGIN
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
    EXECUTE format('DELETE FROM refhist.history h USING refhist.%I r WHERE h.run = r.id', partition.relname);
    EXECUTE format('DROP TABLE refhist.%I', partition.relname);
    RETURN NEXT format('%s runs of %s', number, replace(substr(partition.relname, 5), '_', '-'));
  END LOOP;
  DELETE FROM point p WHERE p.last_at < cut AND NOT EXISTS (SELECT FROM run r WHERE r.point = p.id);
  GET DIAGNOSTICS number = ROW_COUNT;
  DELETE FROM finding_point fp WHERE NOT EXISTS (SELECT FROM point p WHERE p.id = fp.point);
  RETURN NEXT format('%s commits', number);
  DELETE FROM finding_series f WHERE f.last_at < cut;
  DELETE FROM finding f WHERE NOT EXISTS (SELECT FROM finding_series fs WHERE fs.finding = f.id)
    AND NOT EXISTS (SELECT FROM judgement j WHERE j.finding = f.id);
  GET DIAGNOSTICS number = ROW_COUNT;
  RETURN NEXT format('%s findings', number);
  DELETE FROM incoming i WHERE i.transaction < pg_snapshot_xmin(pg_current_snapshot());  -- of senders that took no run
END $$;

-- Functions are everybody's at first in PostgreSQL: here each says whose it is.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA refhist FROM PUBLIC;
GRANT EXECUTE ON FUNCTION refhist.add_history(uuid, timestamptz, int, bytea) TO refhist_sender;
GRANT SELECT ON refhist.history TO refhist_reader, refhist_triage;
