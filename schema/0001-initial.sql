-- Version 1: machines, runs, cases, slices, series, samples; summaries and fits; ceilings.
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

-- Measured once per device; the newest wins, older ones explain older runs.
CREATE TABLE ceiling(
    id INTEGER PRIMARY KEY,
    machine_id INTEGER NOT NULL REFERENCES machine(id),
    device TEXT NOT NULL,
    key TEXT NOT NULL,
    value REAL NOT NULL,
    measured_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX ceiling_by_key ON ceiling(machine_id, device, key, measured_ns);
