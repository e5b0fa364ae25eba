-- Version 8: the branch that a run was recorded on, and baselines that follow one.

ALTER TABLE run ADD COLUMN git_branch TEXT;
CREATE INDEX run_by_branch ON run(git_branch) WHERE git_branch IS NOT NULL;

-- SQLite alters no CHECK: the three tables are made anew, those that refer to another dropped first.
CREATE TEMP TABLE old_baseline AS SELECT * FROM baseline;
CREATE TEMP TABLE old_baseline_run AS SELECT * FROM baseline_run;
CREATE TEMP TABLE old_baseline_change AS SELECT * FROM baseline_change;
DROP TABLE baseline_change;
DROP TABLE baseline_run;
DROP TABLE baseline;

-- follows and pattern: it moves, and stands for the `newest` complete runs that have the label or the tag "KEY=VALUE", or that were recorded
-- on the branch without uncommitted changes and as no side of a gate. NULL: pinned.
CREATE TABLE baseline(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL,
    follows TEXT CHECK(follows IN ('label', 'tag', 'branch')),
    pattern TEXT,
    newest INTEGER CHECK(newest >= 1),
    CHECK((follows IS NULL) = (pattern IS NULL) AND (follows IS NULL) = (newest IS NULL))
) STRICT;

-- The runs of those that are pinned.
CREATE TABLE baseline_run(
    baseline_id INTEGER NOT NULL REFERENCES baseline(id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    PRIMARY KEY(baseline_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX baseline_by_run ON baseline_run(run_id);

-- meaning: what it stood for from then on, in words.
CREATE TABLE baseline_change(
    id INTEGER PRIMARY KEY,
    baseline_id INTEGER NOT NULL REFERENCES baseline(id) ON DELETE CASCADE,
    changed_ns INTEGER NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL CHECK(action IN ('saved', 'replaced', 'accepted', 'pinned')),
    meaning TEXT NOT NULL,
    reason TEXT
) STRICT;
CREATE INDEX baseline_change_by_baseline ON baseline_change(baseline_id);

INSERT INTO baseline SELECT * FROM old_baseline;
INSERT INTO baseline_run SELECT * FROM old_baseline_run;
INSERT INTO baseline_change SELECT * FROM old_baseline_change;
DROP TABLE old_baseline;
DROP TABLE old_baseline_run;
DROP TABLE old_baseline_change;
