-- Version 10, the first schema: machines, runs, cases, slices, series, samples, and what is computed from them.
--
-- A version is the number in its file's name. 1 to 9 were used before the first release; stores of those versions are refused.
-- Migrations are appended, never edited. Times are integers of nanoseconds (wall clock since 1970 where they are dates).
-- The tables are private: scripts read the v_* views (views.sql), which docs/store.md describes.

CREATE TABLE machine(
    id INTEGER PRIMARY KEY,
    json TEXT NOT NULL UNIQUE CHECK(json GLOB '{*}')
) STRICT;

-- host, boot_id, pid and pid_start_ticks name the recording process: the next writer marks the run of a dead one interrupted.
CREATE TABLE run(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL,
    label TEXT,
    command_line TEXT NOT NULL,
    settings TEXT NOT NULL CHECK(settings GLOB '{*}'),
    tags TEXT NOT NULL CHECK(tags GLOB '{*}'),
    machine_id INTEGER NOT NULL REFERENCES machine(id),
    git_commit TEXT,
    git_dirty INTEGER CHECK(git_dirty IN (0, 1)),
    git_branch TEXT,
    version TEXT NOT NULL,
    started_ns INTEGER NOT NULL,
    ended_ns INTEGER,
    status TEXT NOT NULL CHECK(status IN ('running', 'complete', 'interrupted', 'failed')),
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    pid_start_ticks INTEGER NOT NULL
) STRICT;
CREATE INDEX run_by_label ON run(label) WHERE label IS NOT NULL;
CREATE INDEX run_by_branch ON run(git_branch) WHERE git_branch IS NOT NULL;

-- The topology of a machine as hwloc's XML, without I/O devices, once per machine.
CREATE TABLE topology(
    machine_id INTEGER PRIMARY KEY REFERENCES machine(id),
    xml TEXT NOT NULL
) STRICT;

-- What a worker said about how it measures (threads, BLAS core ...). Invocation 0 is the run itself.
CREATE TABLE setting(
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    invocation INTEGER NOT NULL CHECK(invocation >= 0),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY(run_id, invocation, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_case(
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL CHECK(ordinal >= 0),
    experiment TEXT NOT NULL,
    revision INTEGER NOT NULL,
    variant TEXT NOT NULL,
    device TEXT NOT NULL,
    axes TEXT NOT NULL CHECK(axes GLOB '{*}'),
    identity TEXT NOT NULL CHECK(identity GLOB '{*}'),
    predicted_bytes INTEGER CHECK(predicted_bytes >= 0),
    UNIQUE(run_id, ordinal)
) STRICT;

-- Work a probe declares for a metric of a case; predicted is a value of the metric itself.
CREATE TABLE work(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    flops REAL,
    bytes REAL,
    exps REAL,
    messages REAL,
    predicted REAL,
    PRIMARY KEY(case_id, metric)
) STRICT, WITHOUT ROWID;

-- One row per distinct declaration, shared by all runs.
CREATE TABLE metric(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    direction TEXT NOT NULL CHECK(direction IN ('lower', 'higher', 'none')),
    class TEXT NOT NULL CHECK(class IN ('time', 'exact', 'rate', 'memory')),
    combine TEXT NOT NULL CHECK(combine IN ('median', 'min', 'max', 'sum', 'mean')),
    ranks TEXT NOT NULL CHECK(ranks IN ('median', 'min', 'max', 'sum', 'mean')),
    source TEXT NOT NULL,
    UNIQUE(name, unit, direction, class, combine, ranks, source)
) STRICT;

CREATE TABLE slice(
    id INTEGER PRIMARY KEY,
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    invocation INTEGER NOT NULL CHECK(invocation >= 1),
    pass TEXT NOT NULL CHECK(pass IN ('timing', 'counter', 'trace', 'memory', 'power', 'calibration')),
    status TEXT NOT NULL CHECK(status IN ('ok', 'oom', 'timeout', 'skipped', 'failed', 'interrupted')),
    message TEXT NOT NULL,
    started_ns INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL CHECK(elapsed_ns >= 0),
    notes TEXT NOT NULL CHECK(notes GLOB '{*}'),
    UNIQUE(case_id, invocation, pass)
) STRICT;

-- Not unique: a worker may send one series in several parts.
CREATE TABLE series(
    id INTEGER PRIMARY KEY,
    slice_id INTEGER NOT NULL REFERENCES slice(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    rank INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK(phase IN ('first', 'warmup', 'steady', 'disturbed')),
    reps INTEGER NOT NULL CHECK(reps >= 1)
) STRICT;
CREATE INDEX series_by_slice ON series(slice_id);

-- value is the total of the series' reps repetitions; NULL was not a number. The check means a number: any number is less than any
-- text, and a text or blob is not. typeof() would say it plainly and take as long as the insertion.
CREATE TABLE sample(
    series_id INTEGER NOT NULL REFERENCES series(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    value ANY CHECK(value < ''),
    PRIMARY KEY(series_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Over the steady samples of one timing slice. figure is what its metric combines them to.
CREATE TABLE slice_summary(
    slice_id INTEGER NOT NULL REFERENCES slice(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    n INTEGER NOT NULL CHECK(n >= 1),
    figure REAL,
    median REAL,
    mean REAL,
    sd REAL,
    min REAL,
    max REAL,
    PRIMARY KEY(slice_id, metric_id)
) STRICT, WITHOUT ROWID;

-- Over the invocations of one case.
CREATE TABLE summary(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    n INTEGER NOT NULL CHECK(n >= 1),
    invocations INTEGER NOT NULL CHECK(invocations >= 1),
    median REAL,
    ci_low REAL,
    ci_high REAL,
    mean REAL,
    sd REAL,
    min REAL,
    max REAL,
    cv REAL,
    PRIMARY KEY(case_id, metric_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE fit(
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    metric TEXT NOT NULL,
    axis TEXT NOT NULL,
    kind TEXT NOT NULL CHECK(kind IN ('power', 'line')),
    experiment TEXT NOT NULL,
    variant TEXT NOT NULL,
    device TEXT NOT NULL,
    fixed TEXT NOT NULL CHECK(fixed GLOB '{*}'),
    n INTEGER NOT NULL,
    slope REAL,
    slope_low REAL,
    slope_high REAL,
    intercept REAL,
    intercept_low REAL,
    intercept_high REAL,
    r2 REAL,
    UNIQUE(run_id, name, experiment, variant, device, fixed)
) STRICT;

-- A row per key and repeat of measuring the ceilings of a device. The highest counts: v_ceiling.
CREATE TABLE ceiling(
    id INTEGER PRIMARY KEY,
    machine_id INTEGER NOT NULL REFERENCES machine(id),
    device TEXT NOT NULL,
    key TEXT NOT NULL,
    value REAL NOT NULL,
    measured_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX ceiling_by_key ON ceiling(machine_id, device, key, measured_ns);

-- What counter passes counted, and what is derived from it: a row per region and event or derived metric of a case.
CREATE TABLE counter(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    region TEXT NOT NULL,
    group_name TEXT NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    value REAL,
    source TEXT NOT NULL,
    native TEXT NOT NULL,
    quality TEXT NOT NULL CHECK(quality IN ('exact', 'approximate', 'derived')),
    modes TEXT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY(case_id, region, group_name, name)
) STRICT, WITHOUT ROWID;

-- Counting slows down: what was timed beside it never enters a statistic.
CREATE TRIGGER slice_summary_is_of_timing BEFORE INSERT ON slice_summary
WHEN (SELECT pass FROM slice WHERE id = NEW.slice_id) <> 'timing'
BEGIN
    SELECT RAISE(ABORT, 'only timing passes enter statistics');
END;

-- Baselines: a name for runs of one experiment, and who decided when and why what it stands for.
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

-- What a calibration (equal work, measured twice in turns) says of the noise: a row per metric of a case of the base. Shares: 0.014 is 1.4 %.
-- within_cv: between the samples of one process; NULL where processes give one. floor: the smallest change that a gate can tell from none;
-- min_effect: the suggested --min-effect; mde: the smallest worsening that is found 19 times in 20 with that.
CREATE TABLE calibration(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    pairs INTEGER NOT NULL CHECK(pairs >= 4),
    disturbed INTEGER NOT NULL CHECK(disturbed >= 0),
    ratio REAL NOT NULL,
    p REAL,
    between_cv REAL NOT NULL,
    within_cv REAL,
    pair_sd REAL NOT NULL,
    floor REAL NOT NULL,
    min_effect REAL NOT NULL,
    mde REAL NOT NULL,
    PRIMARY KEY(case_id, metric_id)
) STRICT, WITHOUT ROWID;
