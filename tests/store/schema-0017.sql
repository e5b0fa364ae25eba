PRAGMA application_id=1886087540;
PRAGMA user_version=17;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE machine(
    id INTEGER PRIMARY KEY,
    json TEXT NOT NULL UNIQUE CHECK(json GLOB '{*}')
) STRICT;
INSERT INTO machine VALUES(1,'{"cpu":"made up"}');
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
INSERT INTO run VALUES(1,'3089d64559bbdd45d96d0dd88547d1f9','demo',NULL,'store-writer','{}','{}',1,NULL,NULL,NULL,'0',1795476701677012359,1795476701804419864,'complete','vm','25ed7ec0-2404-4fe0-a12b-24f7ec08b385 pid:[4026531836]',27251,848748);
INSERT INTO run VALUES(2,'418f4fb2c4a62a393aba9818c532ae33','demo',NULL,'store-writer','{}','{}',1,NULL,NULL,NULL,'0',1795476701812600844,1795476701963971349,'complete','vm','25ed7ec0-2404-4fe0-a12b-24f7ec08b385 pid:[4026531836]',27251,848748);
CREATE TABLE topology(
    machine_id INTEGER PRIMARY KEY REFERENCES machine(id),
    xml TEXT NOT NULL
) STRICT;
CREATE TABLE setting(
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    invocation INTEGER NOT NULL CHECK(invocation >= 0),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY(run_id, invocation, key)
) STRICT, WITHOUT ROWID;
INSERT INTO setting VALUES(1,1,'threads','2');
INSERT INTO setting VALUES(2,1,'threads','2');
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
INSERT INTO run_case VALUES(1,1,0,'demo',1,'plain','cpu','{"n":0}','{}',NULL);
INSERT INTO run_case VALUES(2,1,1,'demo',1,'plain','cpu','{"n":1}','{}',NULL);
INSERT INTO run_case VALUES(3,2,0,'demo',1,'plain','cpu','{"n":0}','{}',NULL);
INSERT INTO run_case VALUES(4,2,1,'demo',1,'plain','cpu','{"n":1}','{}',NULL);
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
INSERT INTO metric VALUES(1,'forward_ns','ns','lower','time','median','max','region');
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
INSERT INTO slice VALUES(1,1,1,'timing','ok','',1795476701712517609,1,'{"stop":"max-samples"}');
INSERT INTO slice VALUES(2,2,1,'timing','ok','',1795476701756015897,1,'{"stop":"max-samples"}');
INSERT INTO slice VALUES(3,1,2,'timing','ok','',1795476701768525810,1,'{"stop":"max-samples"}');
INSERT INTO slice VALUES(4,2,2,'timing','ok','',1795476701785585078,1,'{"stop":"max-samples"}');
INSERT INTO slice VALUES(5,3,1,'timing','ok','',1795476701835614368,1,'{"stop":"max-samples"}');
INSERT INTO slice VALUES(6,4,1,'timing','ok','',1795476701876078808,1,'{"stop":"max-samples"}');
INSERT INTO slice VALUES(7,3,2,'timing','ok','',1795476701908787867,1,'{"stop":"max-samples"}');
INSERT INTO slice VALUES(8,4,2,'timing','ok','',1795476701927898867,1,'{"stop":"max-samples"}');
CREATE TABLE series(
    id INTEGER PRIMARY KEY,
    slice_id INTEGER NOT NULL REFERENCES slice(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    rank INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK(phase IN ('first', 'warmup', 'steady', 'disturbed')),
    reps INTEGER NOT NULL CHECK(reps >= 1)
) STRICT;
INSERT INTO series VALUES(1,1,1,0,0,'steady',1);
INSERT INTO series VALUES(2,2,1,0,0,'steady',1);
INSERT INTO series VALUES(3,3,1,0,0,'steady',1);
INSERT INTO series VALUES(4,4,1,0,0,'steady',1);
INSERT INTO series VALUES(5,5,1,0,0,'steady',1);
INSERT INTO series VALUES(6,6,1,0,0,'steady',1);
INSERT INTO series VALUES(7,7,1,0,0,'steady',1);
INSERT INTO series VALUES(8,8,1,0,0,'steady',1);
CREATE TABLE sample(
    series_id INTEGER NOT NULL REFERENCES series(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    value ANY CHECK(value < ''),
    PRIMARY KEY(series_id, ordinal)
) STRICT, WITHOUT ROWID;
INSERT INTO sample VALUES(1,0,1000000);
INSERT INTO sample VALUES(1,1,1000919);
INSERT INTO sample VALUES(1,2,1000838);
INSERT INTO sample VALUES(2,0,1000000);
INSERT INTO sample VALUES(2,1,1000919);
INSERT INTO sample VALUES(2,2,1000838);
INSERT INTO sample VALUES(3,0,1000000);
INSERT INTO sample VALUES(3,1,1000919);
INSERT INTO sample VALUES(3,2,1000838);
INSERT INTO sample VALUES(4,0,1000000);
INSERT INTO sample VALUES(4,1,1000919);
INSERT INTO sample VALUES(4,2,1000838);
INSERT INTO sample VALUES(5,0,1000000);
INSERT INTO sample VALUES(5,1,1000919);
INSERT INTO sample VALUES(5,2,1000838);
INSERT INTO sample VALUES(6,0,1000000);
INSERT INTO sample VALUES(6,1,1000919);
INSERT INTO sample VALUES(6,2,1000838);
INSERT INTO sample VALUES(7,0,1000000);
INSERT INTO sample VALUES(7,1,1000919);
INSERT INTO sample VALUES(7,2,1000838);
INSERT INTO sample VALUES(8,0,1000000);
INSERT INTO sample VALUES(8,1,1000919);
INSERT INTO sample VALUES(8,2,1000838);
CREATE TABLE slice_summary(
    slice_id INTEGER NOT NULL REFERENCES slice(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    n INTEGER NOT NULL CHECK(n >= 1),
    figure REAL,
    median REAL,
    mean REAL,
    sd REAL,
    min REAL,
    max REAL, p90 REAL, p99 REAL,
    PRIMARY KEY(slice_id, metric_id)
) STRICT, WITHOUT ROWID;
INSERT INTO slice_summary VALUES(1,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
INSERT INTO slice_summary VALUES(2,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
INSERT INTO slice_summary VALUES(3,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
INSERT INTO slice_summary VALUES(4,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
INSERT INTO slice_summary VALUES(5,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
INSERT INTO slice_summary VALUES(6,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
INSERT INTO slice_summary VALUES(7,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
INSERT INTO slice_summary VALUES(8,1,3,1000838.0,1000838.0,1000585.6666666666278,508.81660088221701697,1000000.0,1000919.0,NULL,NULL);
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
    cv REAL, ci_level REAL,
    PRIMARY KEY(case_id, metric_id)
) STRICT, WITHOUT ROWID;
INSERT INTO summary VALUES(1,1,6,2,1000838.0,NULL,NULL,1000585.6666666666278,455.0994030612066581,1000000.0,1000919.0,0.00045483302252101687158,NULL);
INSERT INTO summary VALUES(2,1,6,2,1000838.0,NULL,NULL,1000585.6666666666278,455.0994030612066581,1000000.0,1000919.0,0.00045483302252101687158,NULL);
INSERT INTO summary VALUES(3,1,6,2,1000838.0,NULL,NULL,1000585.6666666666278,455.0994030612066581,1000000.0,1000919.0,0.00045483302252101687158,NULL);
INSERT INTO summary VALUES(4,1,6,2,1000838.0,NULL,NULL,1000585.6666666666278,455.0994030612066581,1000000.0,1000919.0,0.00045483302252101687158,NULL);
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
CREATE TABLE ceiling(
    id INTEGER PRIMARY KEY,
    machine_id INTEGER NOT NULL REFERENCES machine(id),
    device TEXT NOT NULL,
    key TEXT NOT NULL,
    value REAL NOT NULL,
    measured_ns INTEGER NOT NULL
, evidence INTEGER NOT NULL DEFAULT 0 CHECK(evidence BETWEEN 0 AND 63)) STRICT;
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
CREATE TABLE baseline(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL,
    follows TEXT CHECK(follows IN ('label', 'tag', 'branch')),
    pattern TEXT,
    newest INTEGER CHECK(newest >= 1),
    CHECK((follows IS NULL) = (pattern IS NULL) AND (follows IS NULL) = (newest IS NULL))
) STRICT;
CREATE TABLE baseline_run(
    baseline_id INTEGER NOT NULL REFERENCES baseline(id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    PRIMARY KEY(baseline_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE baseline_change(
    id INTEGER PRIMARY KEY,
    baseline_id INTEGER NOT NULL REFERENCES baseline(id) ON DELETE CASCADE,
    changed_ns INTEGER NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL CHECK(action IN ('saved', 'replaced', 'accepted', 'pinned')),
    meaning TEXT NOT NULL,
    reason TEXT
) STRICT;
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
CREATE TABLE baseline_verdict(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    base TEXT NOT NULL,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    base_runs TEXT NOT NULL,
    judged_ns INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    ratio REAL,
    ratio_low REAL,
    ratio_high REAL,
    difference REAL,
    difference_low REAL,
    difference_high REAL,
    margin REAL NOT NULL CHECK(margin >= 0),
    min_change REAL,
    p REAL,
    p_adjusted REAL,
    mde REAL,
    needed INTEGER NOT NULL CHECK(needed >= -1),
    pairs INTEGER NOT NULL CHECK(pairs >= 0),
    disturbed INTEGER NOT NULL CHECK(disturbed >= 0),
    criteria TEXT NOT NULL CHECK(criteria GLOB '{*}'), slow_base INTEGER CHECK(slow_base >= 0), slow_new INTEGER CHECK(slow_new >= 0), slow_size REAL, slow_found REAL,
    PRIMARY KEY(case_id, base, metric_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE verdict(
    new_case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    base_case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    verdict TEXT NOT NULL CHECK(verdict IN ('faster', 'slower', 'slower-in-some', 'same', 'undecided', 'unreplicated', 'unstable')),
    reason TEXT NOT NULL,
    ratio REAL,
    ratio_low REAL,
    ratio_high REAL,
    difference REAL,
    difference_low REAL,
    difference_high REAL,
    margin REAL NOT NULL CHECK(margin >= 0),
    min_change REAL,
    p REAL,
    p_adjusted REAL,
    mde REAL,
    needed INTEGER NOT NULL CHECK(needed >= -1),
    pairs INTEGER NOT NULL CHECK(pairs >= 0),
    disturbed INTEGER NOT NULL CHECK(disturbed >= 0),
    criteria TEXT NOT NULL CHECK(criteria GLOB '{*}'),
    slow_base INTEGER CHECK(slow_base >= 0),
    slow_new INTEGER CHECK(slow_new >= 0),
    slow_size REAL,
    slow_found REAL,
    PRIMARY KEY(new_case_id, base_case_id, metric_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE curve(
    machine_id INTEGER NOT NULL REFERENCES machine(id),
    device TEXT NOT NULL,
    measured_ns INTEGER NOT NULL,
    lanes INTEGER NOT NULL CHECK(lanes >= 1),
    bytes INTEGER NOT NULL CHECK(bytes >= 1),
    level TEXT NOT NULL CHECK(level IN ('L1', 'L2', 'L3', 'between', 'memory')),
    update_bytes_per_s REAL,
    copy_bytes_per_s REAL,
    triad_bytes_per_s REAL,
    read_bytes_per_s REAL,
    stop TEXT CHECK(stop IN ('flat', 'room', 'time')),
    PRIMARY KEY(machine_id, device, measured_ns, lanes, bytes)
) STRICT, WITHOUT ROWID;
CREATE TABLE slice_trace(
    slice_id INTEGER NOT NULL REFERENCES slice(id) ON DELETE CASCADE,
    rank INTEGER NOT NULL CHECK(rank >= 0),
    json TEXT NOT NULL CHECK(json GLOB '{*}'),
    PRIMARY KEY(slice_id, rank)
) STRICT;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('run',2);
CREATE INDEX run_by_label ON run(label) WHERE label IS NOT NULL;
CREATE INDEX run_by_branch ON run(git_branch) WHERE git_branch IS NOT NULL;
CREATE INDEX series_by_slice ON series(slice_id);
CREATE INDEX ceiling_by_key ON ceiling(machine_id, device, key, measured_ns);
CREATE TRIGGER slice_summary_is_of_timing BEFORE INSERT ON slice_summary
WHEN (SELECT pass FROM slice WHERE id = NEW.slice_id) <> 'timing'
BEGIN
    SELECT RAISE(ABORT, 'only timing passes enter statistics');
END;
CREATE INDEX baseline_by_run ON baseline_run(run_id);
CREATE INDEX baseline_change_by_baseline ON baseline_change(baseline_id);
CREATE INDEX verdict_by_base ON verdict(base_case_id);
CREATE VIEW v_run AS
SELECT r.id AS run_id, r.label,
       strftime('%Y-%m-%dT%H:%M:%SZ', r.started_ns / 1000000000, 'unixepoch') AS started_at,
       r.status, m.json AS machine, r.git_commit, r.command_line, r.git_dirty, r.experiment, r.settings, r.tags,
       strftime('%Y-%m-%dT%H:%M:%SZ', r.ended_ns / 1000000000, 'unixepoch') AS ended_at,
       r.started_ns, r.ended_ns, r.version, r.host, r.machine_id, r.uuid, r.git_branch
FROM run r JOIN machine m ON m.id = r.machine_id;
CREATE VIEW v_slice AS
SELECT c.run_id, l.case_id, l.invocation, l.pass, l.status, l.message, l.notes, l.started_ns, l.elapsed_ns, l.id AS slice_id
FROM slice l JOIN run_case c ON c.id = l.case_id;
CREATE VIEW v_case AS
SELECT c.run_id, c.id AS case_id, c.experiment, c.device, c.variant, c.axes,
       CASE WHEN d.id IS NOT NULL THEN d.status WHEN r.status <> 'running' THEN 'interrupted' END AS status,
       CASE WHEN d.id IS NOT NULL THEN d.message WHEN r.status <> 'running' THEN 'the run ended before this case was measured'
            ELSE 'not measured yet' END AS message,
       c.ordinal, c.revision, c.identity, c.predicted_bytes
FROM run_case c JOIN run r ON r.id = c.run_id
LEFT JOIN slice d ON d.id = (
    SELECT l.id FROM slice l WHERE l.case_id = c.id
    ORDER BY l.pass = 'timing' DESC,
             CASE l.status WHEN 'failed' THEN 5 WHEN 'timeout' THEN 4 WHEN 'oom' THEN 3 WHEN 'skipped' THEN 2 WHEN 'ok' THEN 1
                           ELSE 0 END DESC,
             l.invocation
    LIMIT 1);
CREATE VIEW v_summary AS
SELECT c.run_id, c.id AS case_id, c.experiment, c.device, c.variant, c.axes, m.name AS metric, m.unit, m.direction,
       s.n, s.invocations, s.median, s.ci_low, s.ci_high, s.mean, s.sd, s.min, s.max, s.cv,
       m.class, m.combine, m.ranks, m.source, c.ordinal, c.revision, c.identity,
       s.ci_level, max(s.ci_high - s.median, s.median - s.ci_low) / nullif(abs(s.median), 0) AS uncertainty
FROM run_case c JOIN summary s ON s.case_id = c.id JOIN metric m ON m.id = s.metric_id;
CREATE VIEW v_interval_note AS
SELECT run_id, experiment,
       printf(CASE WHEN min(invocations) < 3 THEN 'No ±: an interval needs three processes (%s 3); the fewest here are %d.'
                   ELSE '± is approximate with fewer than six processes (%s 6); the fewest here are %d.' END,
              CASE experiment WHEN 'exec' THEN '--runs' ELSE '--invocations' END, min(invocations)) AS note
FROM v_summary WHERE unit = 'ns' AND invocations < 6 GROUP BY run_id, experiment
;
CREATE VIEW v_invocation AS
SELECT c.run_id, c.id AS case_id, l.invocation, m.name AS metric, s.n, s.median, s.mean, s.sd, s.min, s.max, s.figure,
       m.unit, m.direction, s.p90, s.p99
FROM run_case c JOIN slice l ON l.case_id = c.id JOIN slice_summary s ON s.slice_id = l.id JOIN metric m ON m.id = s.metric_id
WHERE l.pass = 'timing';
CREATE VIEW v_sample AS
SELECT c.run_id, c.id AS case_id, l.invocation, e.rank, s.ordinal, e.phase, m.name AS metric, m.unit,
       CASE e.reps WHEN 1 THEN s.value ELSE s.value * 1.0 / e.reps END AS value, l.pass, e.instance, e.reps
FROM run_case c JOIN slice l ON l.case_id = c.id JOIN series e ON e.slice_id = l.id JOIN metric m ON m.id = e.metric_id
JOIN sample s ON s.series_id = e.id;
CREATE VIEW v_setting AS
SELECT run_id, invocation, key, value FROM setting;
CREATE VIEW v_work AS
SELECT c.run_id, w.case_id, w.metric, w.flops, w.bytes, w.exps, w.messages, w.predicted
FROM work w JOIN run_case c ON c.id = w.case_id;
CREATE VIEW v_fit AS
SELECT run_id, name, metric, axis, kind, experiment, variant, device, fixed, n, slope, slope_low, slope_high, intercept,
       intercept_low, intercept_high, r2
FROM fit;
CREATE VIEW v_ceiling AS
SELECT run_id, device, key, value, measured_ns, repeats, coalesce(next >= 0.95 * value, 0) AS confirmed, evidence
FROM (SELECT r.id AS run_id, k.device, k.key, k.value, k.measured_ns, k.evidence, row_number() OVER w AS place,
             CASE lead(k.evidence) OVER w WHEN k.evidence THEN lead(k.value) OVER w END AS next,
             count(*) OVER (PARTITION BY r.id, k.device, k.key) AS repeats
      FROM run r JOIN ceiling k ON k.machine_id = r.machine_id
      WHERE r.ended_ns IS NULL OR k.measured_ns <= r.ended_ns
      WINDOW w AS (PARTITION BY r.id, k.device, k.key ORDER BY k.evidence DESC, k.value DESC, k.id))
WHERE place = 1;
CREATE VIEW v_curve AS
SELECT run_id, device, lanes, bytes, level, max(coalesce(copy_bytes_per_s, 0), coalesce(triad_bytes_per_s, 0),
       coalesce(read_bytes_per_s, 0)) AS bytes_per_s,
       update_bytes_per_s, copy_bytes_per_s, triad_bytes_per_s, read_bytes_per_s, repeats, stop
FROM (SELECT r.id AS run_id, k.device, k.lanes, k.bytes, min(k.level) AS level, max(k.update_bytes_per_s) AS update_bytes_per_s,
             max(k.copy_bytes_per_s) AS copy_bytes_per_s, max(k.triad_bytes_per_s) AS triad_bytes_per_s,
             max(k.read_bytes_per_s) AS read_bytes_per_s, count(*) AS repeats, min(k.stop) AS stop
      FROM run r JOIN curve k ON k.machine_id = r.machine_id
      WHERE r.ended_ns IS NULL OR k.measured_ns <= r.ended_ns
      GROUP BY r.id, k.device, k.lanes, k.bytes);
CREATE VIEW v_level AS
SELECT run_id, device, level, coalesce(lag(to_bytes) OVER (PARTITION BY run_id, device ORDER BY place), 0) AS above_bytes, to_bytes,
       bytes_per_s, copy_bytes_per_s, evidence, place
FROM (SELECT k.run_id, k.device, n.place, n.level, max(k.value) FILTER (WHERE k.key = n.prefix || '_bytes') AS to_bytes,
             max(k.value) FILTER (WHERE k.key = n.rate) AS bytes_per_s, max(k.value) FILTER (WHERE k.key = n.copy_rate) AS copy_bytes_per_s,
             max(k.evidence) AS evidence
      FROM v_ceiling k JOIN (SELECT 1 AS place, 'L1' AS level, 'l1' AS prefix, 'l1_bytes_per_s' AS rate, 'l1_copy_bytes_per_s' AS copy_rate
                             UNION ALL SELECT 2, 'L2', 'l2', 'l2_bytes_per_s', 'l2_copy_bytes_per_s'
                             UNION ALL SELECT 3, 'L3', 'l3', 'l3_bytes_per_s', 'l3_copy_bytes_per_s'
                             UNION ALL SELECT 4, 'between', 'between', 'between_bytes_per_s', 'between_copy_bytes_per_s'
                             UNION ALL SELECT 5, 'memory', '', 'memory_bytes_per_s', 'copy_bytes_per_s') n
           ON k.key IN (n.prefix || '_bytes', n.rate, n.copy_rate) AND k.evidence > 0
      GROUP BY k.run_id, k.device, n.place)
WHERE bytes_per_s IS NOT NULL;
CREATE VIEW v_case_level AS
SELECT c.run_id, c.case_id, c.bytes, coalesce(l.level, CASE WHEN c.bytes <= c.cache_bytes THEN 'cache' WHEN c.bytes > c.cache_bytes THEN 'memory' END)
       AS level, coalesce(l.bytes_per_s, c.memory_bytes_per_s) AS bytes_per_s
FROM (SELECT r.id AS run_id, c.id AS case_id, d.device, d.cache_bytes, d.memory_bytes_per_s,
             coalesce((SELECT max(s.median) FROM summary s JOIN metric m ON m.id = s.metric_id
                       WHERE s.case_id = c.id AND m.name = 'peak_bytes'), c.predicted_bytes) AS bytes
      FROM run_case c JOIN run r ON r.id = c.run_id
      LEFT JOIN (SELECT run_id, device, max(value) FILTER (WHERE key = 'cache_bytes') AS cache_bytes,
                        max(value) FILTER (WHERE key = 'memory_bytes_per_s') AS memory_bytes_per_s
                 FROM v_ceiling GROUP BY run_id, device) d
           ON d.run_id = c.run_id AND d.device = coalesce(json_extract(r.settings, '$.ceilings_of'), c.device)) c
LEFT JOIN v_level l ON l.run_id = c.run_id AND l.device = c.device AND c.bytes > l.above_bytes AND (c.bytes <= l.to_bytes OR l.to_bytes IS NULL);
CREATE VIEW v_topology AS
SELECT machine_id, xml FROM topology;
CREATE VIEW v_state AS
SELECT c.run_id, l.case_id, l.invocation, l.pass, CASE n.key WHEN 'state' THEN 'machine' ELSE substr(n.key, 7) END AS source,
       e.key AS name, json_extract(e.value, '$[0]') AS before, json_extract(e.value, '$[1]') AS after, l.id AS slice_id
FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes) n, json_each(n.value) e
WHERE (n.key = 'state' OR n.key GLOB 'state:*') AND n.type = 'object' AND e.type = 'array';
CREATE VIEW v_doubt AS
SELECT w.run_id, w.case_id, w.invocation, w.pass, w.doubt, coalesce(m.meaning, w.doubt) AS meaning, w.slice_id
FROM (
    SELECT c.run_id, l.case_id, l.invocation, l.pass, l.id AS slice_id, 'disturbed' AS doubt
    FROM slice l JOIN run_case c ON c.id = l.case_id
    WHERE json_extract(l.notes, '$.disturbed') > 0 OR json_extract(l.notes, '$.disturbed_kept') IS NOT NULL
    UNION ALL
    SELECT c.run_id, l.case_id, l.invocation, l.pass, l.id, json_extract(l.notes, '$.class')
    FROM slice l JOIN run_case c ON c.id = l.case_id
    WHERE json_extract(l.notes, '$.class') IN ('slowdown', 'no-steady')
    UNION ALL
    SELECT c.run_id, l.case_id, l.invocation, l.pass, l.id, e.value
    FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes) n, json_each(n.value) e
    WHERE (n.key = 'doubts' OR n.key GLOB 'doubts:*') AND n.type = 'array' AND e.type = 'text') w
LEFT JOIN (
    SELECT 'disturbed' AS doubt, 'had samples during which the hypervisor ran another guest' AS meaning
    UNION ALL SELECT 'slowdown', 'became slower while they were measured (possible thermal throttling)'
    UNION ALL SELECT 'no-steady', 'reached no steady state'
    UNION ALL SELECT 'stolen', 'were measured while the hypervisor took more than 1 % of the CPU time'
    UNION ALL SELECT 'crowded', 'were measured while other processes were waiting for a CPU for more than 5 % of the time'
    UNION ALL SELECT 'short-of-memory', 'were measured while processes waited for memory for more than 1 % of the time'
    UNION ALL SELECT 'quota', 'were stopped by the CPU quota of their control group'
    UNION ALL SELECT 'throttled', 'were measured while the processor throttled itself (temperature or power)'
    UNION ALL SELECT 'clock-fell', 'were measured while the CPU clock fell by more than 5 %'
    UNION ALL SELECT 'noisy', 'were measured beside a clock spin that lost more than 5 % of its time to interruptions') m
ON m.doubt = w.doubt;
CREATE VIEW v_counter AS
SELECT c.run_id, k.case_id, c.experiment, c.device, c.variant, c.axes, k.region, k.name, k.unit, k.value, k.group_name, k.source,
       k.native, k.quality, k.modes, k.note, c.ordinal
FROM counter k JOIN run_case c ON c.id = k.case_id;
CREATE VIEW v_breakdown AS
SELECT c.run_id, l.case_id, c.experiment, c.device, c.variant, c.axes, json_extract(f.value, '$.region') AS region,
       json_extract(f.value, '$.family') AS family, json_extract(f.value, '$.calls') AS calls,
       json_extract(f.value, '$.time_ns') AS time_ns, json_extract(f.value, '$.flops') AS flops,
       json_extract(f.value, '$.bytes') AS bytes,
       json_extract(r.value, '$.time_ns') AS region_time_ns, json_extract(r.value, '$.busy_ns') AS busy_ns,
       json_extract(r.value, '$.gap_ns') AS gap_ns, json_extract(l.notes, '$.breakdown.whole') AS whole, c.ordinal
FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes, '$.breakdown.families') f
JOIN json_each(l.notes, '$.breakdown.regions') r ON json_extract(r.value, '$.region') = json_extract(f.value, '$.region')
WHERE l.pass = 'trace' AND l.status = 'ok';
CREATE VIEW v_kernel AS
SELECT c.run_id, l.case_id, c.experiment, c.device, c.variant, c.axes, json_extract(k.value, '$.region') AS region,
       json_extract(k.value, '$.family') AS family, json_extract(k.value, '$.name') AS name,
       json_extract(k.value, '$.calls') AS calls, json_extract(k.value, '$.time_ns') AS time_ns, c.ordinal
FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes, '$.breakdown.kernels') k
WHERE l.pass = 'trace' AND l.status = 'ok';
CREATE VIEW v_trace AS
SELECT c.run_id, l.case_id, l.invocation, l.pass, t.rank, t.json AS trace, l.id AS slice_id
FROM slice_trace t JOIN slice l ON l.id = t.slice_id JOIN run_case c ON c.id = l.case_id;
CREATE VIEW v_timeline AS
SELECT c.run_id, l.case_id, c.experiment, c.device, c.variant, c.axes, l.invocation, b.key AS bucket, json_extract(b.value, '$[0]') AS bytes,
       json_extract(b.value, '$[1]') AS ready_ns, json_extract(b.value, '$[2]') AS started_ns, json_extract(b.value, '$[3]') AS ended_ns,
       json_extract(l.notes, '$.timeline.backward_ns') AS backward_ns, c.ordinal
FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes, '$.timeline.reduces') b
WHERE l.pass = 'timing' AND l.status = 'ok';
CREATE VIEW v_baseline_run AS
SELECT b.name, p.run_id FROM baseline b JOIN baseline_run p ON p.baseline_id = b.id
UNION ALL
SELECT name, run_id
FROM (SELECT b.name, b.newest, r.id AS run_id, row_number() OVER (PARTITION BY b.id ORDER BY r.id DESC) AS place
      FROM baseline b JOIN run r ON r.experiment = b.experiment AND r.status = 'complete'
      WHERE CASE b.follows WHEN 'label' THEN r.label = b.pattern
                           WHEN 'tag' THEN EXISTS (SELECT 1 FROM json_each(r.tags) t WHERE t.key || '=' || t.value = b.pattern)
                           WHEN 'branch' THEN r.git_branch = b.pattern AND r.git_dirty IS NOT 1 AND json_extract(r.settings, '$.gate') IS NULL END)
WHERE place <= newest;
CREATE VIEW v_baseline_change AS
SELECT b.name, strftime('%Y-%m-%dT%H:%M:%SZ', c.changed_ns / 1000000000, 'unixepoch') AS changed_at, c.who, c.action, c.meaning, c.reason,
       c.changed_ns, c.id AS change_id
FROM baseline_change c JOIN baseline b ON b.id = c.baseline_id;
CREATE VIEW v_baseline AS
SELECT b.name, b.experiment, CASE WHEN b.follows IS NULL THEN 'pinned' ELSE 'moving' END AS kind, b.follows, b.pattern, b.newest,
       (SELECT count(*) FROM v_baseline_run r WHERE r.name = b.name) AS runs,
       (SELECT max(run_id) FROM v_baseline_run r WHERE r.name = b.name) AS newest_run
FROM baseline b;
CREATE VIEW v_calibration AS
SELECT c.run_id, k.case_id, strftime('%Y-%m-%dT%H:%M:%SZ', r.started_ns / 1000000000, 'unixepoch') AS measured_at, a.json AS machine,
       r.settings, c.experiment, c.device, c.variant, c.axes, m.name AS metric, m.unit, m.direction, k.pairs, k.disturbed, k.ratio, k.p,
       k.between_cv, k.within_cv, k.pair_sd, k.floor, k.min_effect, k.mde, c.ordinal, c.revision, c.identity
FROM calibration k JOIN metric m ON m.id = k.metric_id JOIN run_case c ON c.id = k.case_id JOIN run r ON r.id = c.run_id
JOIN machine a ON a.id = r.machine_id;
CREATE VIEW v_verdict AS
SELECT n.run_id, b.run_id AS base_run_id, v.new_case_id AS case_id, v.base_case_id, n.experiment, n.device, n.variant, n.axes,
       b.device AS base_device, b.variant AS base_variant, b.axes AS base_axes, m.name AS metric, m.unit, m.direction, v.verdict, v.reason,
       v.ratio, v.ratio_low, v.ratio_high, v.difference, v.difference_low, v.difference_high, v.margin, v.min_change, v.p, v.p_adjusted,
       v.mde, v.needed, v.pairs, v.disturbed, v.criteria, n.ordinal, s.uuid AS base_uuid, NULL AS base, NULL AS base_runs, NULL AS judged_at,
       v.slow_base, v.slow_new, v.slow_size, v.slow_found
FROM verdict v JOIN run_case n ON n.id = v.new_case_id JOIN run_case b ON b.id = v.base_case_id JOIN run s ON s.id = b.run_id
JOIN metric m ON m.id = v.metric_id
UNION ALL
SELECT n.run_id, NULL, v.case_id, NULL, n.experiment, n.device, n.variant, n.axes, n.device, n.variant, n.axes, m.name, m.unit, m.direction,
       v.verdict, v.reason, v.ratio, v.ratio_low, v.ratio_high, v.difference, v.difference_low, v.difference_high, v.margin, v.min_change, v.p,
       v.p_adjusted, v.mde, v.needed, v.pairs, v.disturbed, v.criteria, n.ordinal, '', v.base, v.base_runs,
       strftime('%Y-%m-%dT%H:%M:%SZ', v.judged_ns / 1000000000, 'unixepoch'), v.slow_base, v.slow_new, v.slow_size, v.slow_found
FROM baseline_verdict v JOIN run_case n ON n.id = v.case_id JOIN metric m ON m.id = v.metric_id;
COMMIT;
