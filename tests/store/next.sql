-- A version after the newest, for tests of migration only: perfkit-next knows it (tests/store/meson.build).
ALTER TABLE run ADD COLUMN weather TEXT;

CREATE TABLE forecast(
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    rain REAL NOT NULL
) STRICT;
INSERT INTO forecast(run_id, rain) SELECT id, 0.5 FROM run;
