-- A version after the newest, for tests of migration only: perfkit-next knows it (tests/store/meson.build).
ALTER TABLE run ADD COLUMN weather TEXT;

CREATE TABLE forecast(
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    rain REAL NOT NULL
) STRICT;
-- a run with this label makes the migration fail
INSERT INTO forecast(run_id, rain) SELECT id, CASE WHEN label IS NOT 'no forecast' THEN 0.5 END FROM run;
