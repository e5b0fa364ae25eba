-- Version 5: baselines: a name for runs of one experiment, and who decided when and why what it stands for.

-- follows and pattern: it moves, and stands for the `newest` complete runs that have the label, or the tag "KEY=VALUE". NULL: pinned.
CREATE TABLE baseline(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL,
    follows TEXT CHECK(follows IN ('label', 'tag')),
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
