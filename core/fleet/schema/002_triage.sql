-- schema 2: what people have said of findings, and what a branch has
CREATE TABLE refhist.judgement (
  finding int NOT NULL REFERENCES refhist.finding ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by text NOT NULL DEFAULT session_user,
  accepted boolean NOT NULL,
  why text NOT NULL,
  PRIMARY KEY (finding, at)
);

-- The last word on each.
CREATE VIEW refhist.verdict AS
  SELECT DISTINCT ON (finding) finding, at, by, accepted, why FROM refhist.judgement ORDER BY finding, at DESC;

CREATE FUNCTION refhist.judge(called text, which text, accepted boolean, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
DECLARE
  found_id int;
  fault text := text_fault(why, 1000);
BEGIN
  IF fault IS NOT NULL THEN
    PERFORM refuse('the reason ' || fault);
  END IF;
  SELECT f.id INTO found_id FROM finding f JOIN project p ON p.id = f.project WHERE p.name = called AND f.fingerprint = which;
  IF found_id IS NULL THEN
    PERFORM refuse(format('no finding %s in the project %s', which, called));
  END IF;
  INSERT INTO judgement (finding, accepted, why) VALUES (found_id, judge.accepted, judge.why);
END $$;

-- Which of these fingerprints the branch's runs have, or somebody has accepted. It tells of those that it is given and
-- of no others.
CREATE FUNCTION refhist.seen_on(called text, of_branch text, fingerprints text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, refhist, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM series s JOIN project p ON p.id = s.project WHERE p.name = called AND s.branch = of_branch) THEN
    PERFORM refuse(format('the project %s has no runs on the branch %s yet', called, of_branch));
  END IF;
  RETURN QUERY SELECT f.fingerprint FROM finding f JOIN project p ON p.id = f.project
    WHERE p.name = called AND f.fingerprint = ANY (fingerprints)
      AND (EXISTS (SELECT FROM finding_series fs JOIN series s ON s.id = fs.series WHERE fs.finding = f.id AND s.branch = of_branch)
           OR EXISTS (SELECT FROM verdict v WHERE v.finding = f.id AND v.accepted));
END $$;

-- Functions are everybody's at first in PostgreSQL: here each says whose it is.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA refhist FROM PUBLIC;
GRANT SELECT ON refhist.judgement, refhist.verdict TO refhist_reader, refhist_triage;
GRANT EXECUTE ON FUNCTION refhist.judge(text, text, boolean, text) TO refhist_triage;
GRANT EXECUTE ON FUNCTION refhist.seen_on(text, text, text[]) TO refhist_sender, refhist_reader, refhist_triage;
