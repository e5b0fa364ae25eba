-- Statements of the store as a whole: transactions, what a file says of itself, processes that died, checking, pruning and merging.

-- statement: begin
BEGIN IMMEDIATE;
-- statement: commit
COMMIT;
-- statement: rollback
ROLLBACK;

-- statement: configure
PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;

-- A journal that persists is zeroed, which costs less than deleting it and waiting for its directory.
-- statement: keep_journal
PRAGMA journal_mode = PERSIST; PRAGMA journal_size_limit = 1048576;
-- statement: delete_journal
PRAGMA journal_mode = DELETE;

-- statement: application_id
PRAGMA application_id;
-- statement: user_version
PRAGMA user_version;
-- statement: object_count
SELECT count(*) FROM sqlite_schema;
-- statement: declare_json
SELECT count(*) FROM json_each('[]'), json_tree('[]');
-- statement: object_named
SELECT count(*) FROM (SELECT name FROM main.sqlite_schema UNION ALL SELECT name FROM temp.sqlite_schema) WHERE name = ? COLLATE NOCASE;

-- What a schema has, apart from the indexes that SQLite makes for a key and the tables of ANALYZE.
-- statement: objects
SELECT type, name, sql FROM main.sqlite_schema WHERE (type <> 'index' OR sql IS NOT NULL)
AND sql IS NOT 'CREATE TABLE sqlite_stat1(tbl,idx,stat)' AND sql IS NOT 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)';
-- statement: objects_of_other
SELECT type, name, sql FROM other.sqlite_schema WHERE (type <> 'index' OR sql IS NOT NULL)
AND sql IS NOT 'CREATE TABLE sqlite_stat1(tbl,idx,stat)' AND sql IS NOT 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)';
-- statement: same_object
SELECT count(*) FROM main.sqlite_schema WHERE type = ?1 AND name = ?2 AND sql = ?3;
-- statement: same_object_of_other
SELECT count(*) FROM other.sqlite_schema WHERE type = ?1 AND name = ?2 AND sql = ?3;

-- query: running_runs
SELECT id, boot_id, pid, pid_start_ticks FROM run WHERE status = 'running' AND host = :host ORDER BY id;
-- statement: mark_interrupted
UPDATE run SET status = 'interrupted', ended_ns = max(started_ns, coalesce(
  (SELECT max(l.started_ns + l.elapsed_ns) FROM slice l JOIN run_case c ON c.id = l.case_id WHERE c.run_id = run.id), 0))
WHERE id = ?1 AND status = 'running';

-- An argument of these two would be the name of a table since SQLite 3.46, whatever its type; they find 100 problems at most.
-- query: integrity
SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT 20;
-- statement: quick_integrity
SELECT replace(quick_check, char(10), ' ') FROM pragma_quick_check WHERE schema = ?1 AND quick_check <> 'ok' LIMIT 1;
-- query: foreign_keys
SELECT printf('table %s%s: its row of table %s is missing', "table", coalesce(printf(', row %lld', rowid), ''), parent)
FROM pragma_foreign_key_check LIMIT 20;

-- Runs that still go are kept whatever their age, and those of pinned baselines.
-- statement: count_old_runs
SELECT count(*) FROM run WHERE status <> 'running' AND id NOT IN (SELECT id FROM run ORDER BY id DESC LIMIT ?1)
AND id NOT IN (SELECT run_id FROM baseline_run);
-- statement: delete_old_runs
DELETE FROM run WHERE status <> 'running' AND id NOT IN (SELECT id FROM run ORDER BY id DESC LIMIT ?1)
AND id NOT IN (SELECT run_id FROM baseline_run);
-- statement: vacuum
VACUUM;

-- A run is known by its uuid, so merging twice adds nothing. Ids of cases, slices and series are moved behind the ones that are here;
-- machines and metrics are shared by content. A name of a baseline that is taken here keeps its meaning. Ids in the base of a verdict become
-- those of the same runs here, or ?ID; those of runs in another file (FILE.db:NAME) stay.

-- statement: attach_other
ATTACH ?1 AS other;
-- statement: detach_other
DETACH other;
-- statement: forget_merge
DROP TABLE IF EXISTS temp.new_run; DROP TABLE IF EXISTS temp.run_map; DROP TABLE IF EXISTS temp.case_map;
DROP TABLE IF EXISTS temp.slice_map; DROP TABLE IF EXISTS temp.series_map; DROP TABLE IF EXISTS temp.metric_map;
DROP TABLE IF EXISTS temp.baseline_map; DROP TABLE IF EXISTS temp.own_base; DROP TABLE IF EXISTS temp.id_list;
-- statement: count_merged
SELECT count(*) FROM temp.run_map;

-- statement: merge
CREATE TEMP TABLE new_run AS SELECT id AS old, uuid FROM other.run WHERE uuid NOT IN (SELECT uuid FROM main.run) ORDER BY id;
INSERT INTO main.machine(json) SELECT m.json FROM other.machine m WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.topology(machine_id, xml) SELECT m.id, t.xml FROM other.topology t JOIN other.machine o ON o.id = t.machine_id
  JOIN main.machine m ON m.json = o.json WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.run(uuid, experiment, label, command_line, settings, tags, machine_id, git_commit, git_dirty, git_branch, version,
  started_ns, ended_ns, status, host, boot_id, pid, pid_start_ticks)
SELECT r.uuid, experiment, label, command_line, settings, tags, m.id, git_commit, git_dirty, git_branch, version, started_ns, ended_ns,
  CASE status WHEN 'running' THEN 'interrupted' ELSE status END, host, boot_id, pid, pid_start_ticks
FROM new_run n JOIN other.run r ON r.id = n.old JOIN other.machine o ON o.id = r.machine_id JOIN main.machine m ON m.json = o.json
ORDER BY n.old;
CREATE TEMP TABLE run_map AS SELECT n.old, r.id AS new FROM new_run n JOIN main.run r ON r.uuid = n.uuid;
CREATE TEMP TABLE own_base AS SELECT DISTINCT base, base IN (SELECT label FROM other.run WHERE label IS NOT NULL) AS is_label
FROM other.baseline_verdict WHERE is_label OR base GLOB 'commit:*' OR NOT (base GLOB '*.db' OR base GLOB '*:*');
CREATE TEMP TABLE id_list AS SELECT text, (SELECT group_concat(id) FROM (
    SELECT CASE WHEN trim(j.value) GLOB '*[^0-9?]*' OR trim(j.value) NOT GLOB '*[0-9]*' THEN j.value
           ELSE coalesce(CAST(m.id AS TEXT), '?' || ltrim(trim(j.value), '?')) END AS id
    FROM json_each('[' || replace(json_quote(text), ',', '","') || ']') j
    LEFT JOIN other.run o ON CAST(o.id AS TEXT) = trim(j.value) LEFT JOIN main.run m ON m.uuid = o.uuid ORDER BY j.key)) AS ids
FROM (SELECT base_runs AS text FROM other.baseline_verdict JOIN own_base USING (base) UNION SELECT base FROM own_base WHERE NOT is_label);
CREATE TEMP TABLE case_map AS SELECT c.id AS old, c.id + coalesce((SELECT max(id) FROM main.run_case), 0) AS new, m.new AS run
  FROM other.run_case c JOIN run_map m ON m.old = c.run_id;
CREATE TEMP TABLE slice_map AS SELECT l.id AS old, l.id + coalesce((SELECT max(id) FROM main.slice), 0) AS new, m.new AS case_id
  FROM other.slice l JOIN case_map m ON m.old = l.case_id;
CREATE TEMP TABLE series_map AS SELECT e.id AS old, e.id + coalesce((SELECT max(id) FROM main.series), 0) AS new, m.new AS slice_id
  FROM other.series e JOIN slice_map m ON m.old = e.slice_id;
INSERT INTO main.metric(name, unit, direction, class, combine, ranks, source)
  SELECT name, unit, direction, class, combine, ranks, source FROM other.metric WHERE true ON CONFLICT DO NOTHING;
CREATE TEMP TABLE metric_map AS SELECT o.id AS old, m.id AS new
  FROM other.metric o JOIN main.metric m USING(name, unit, direction, class, combine, ranks, source);
INSERT INTO main.setting SELECT m.new, invocation, key, value FROM other.setting s JOIN run_map m ON m.old = s.run_id;
INSERT INTO main.run_case SELECT m.new, m.run, ordinal, experiment, revision, variant, device, axes, identity, predicted_bytes
  FROM other.run_case c JOIN case_map m ON m.old = c.id;
INSERT INTO main.work SELECT m.new, metric, flops, bytes, exps, messages, predicted FROM other.work w JOIN case_map m ON m.old = w.case_id;
INSERT INTO main.slice SELECT m.new, m.case_id, invocation, pass, status, message, started_ns, elapsed_ns, notes
  FROM other.slice l JOIN slice_map m ON m.old = l.id;
INSERT INTO main.slice_trace SELECT m.new, rank, json FROM other.slice_trace t JOIN slice_map m ON m.old = t.slice_id;
INSERT INTO main.series SELECT m.new, m.slice_id, k.new, rank, instance, phase, reps
  FROM other.series e JOIN series_map m ON m.old = e.id JOIN metric_map k ON k.old = e.metric_id;
INSERT INTO main.sample SELECT m.new, ordinal, value FROM series_map m JOIN other.sample s ON s.series_id = m.old;
INSERT INTO main.slice_summary SELECT m.new, k.new, n, figure, median, mean, sd, min, max, p90, p99
  FROM other.slice_summary s JOIN slice_map m ON m.old = s.slice_id JOIN metric_map k ON k.old = s.metric_id;
INSERT INTO main.summary SELECT m.new, k.new, n, invocations, median, ci_low, ci_high, mean, sd, min, max, cv, ci_level
  FROM other.summary s JOIN case_map m ON m.old = s.case_id JOIN metric_map k ON k.old = s.metric_id;
INSERT INTO main.fit(run_id, name, metric, axis, kind, experiment, variant, device, fixed, n, slope, slope_low, slope_high,
  intercept, intercept_low, intercept_high, r2)
SELECT m.new, name, metric, axis, kind, experiment, variant, device, fixed, n, slope, slope_low, slope_high,
  intercept, intercept_low, intercept_high, r2 FROM other.fit f JOIN run_map m ON m.old = f.run_id;
INSERT INTO main.counter SELECT m.new, region, group_name, name, unit, value, source, native, quality, modes, note
  FROM other.counter k JOIN case_map m ON m.old = k.case_id;
INSERT INTO main.calibration SELECT m.new, y.new, pairs, disturbed, ratio, p, between_cv, within_cv, pair_sd, floor, min_effect, mde
  FROM other.calibration k JOIN case_map m ON m.old = k.case_id JOIN metric_map y ON y.old = k.metric_id;
INSERT INTO main.verdict SELECT n.new, b.new, y.new, verdict, reason, ratio, ratio_low, ratio_high, difference, difference_low,
  difference_high, margin, min_change, p, p_adjusted, mde, needed, pairs, disturbed, criteria, slow_base, slow_new, slow_size, slow_found
FROM other.verdict v JOIN case_map n ON n.old = v.new_case_id JOIN case_map b ON b.old = v.base_case_id
JOIN metric_map y ON y.old = v.metric_id;
INSERT INTO main.baseline_verdict SELECT n.new, coalesce(b.ids, v.base), y.new, coalesce(r.ids, base_runs), judged_ns, verdict, reason, ratio,
  ratio_low, ratio_high, difference, difference_low, difference_high, margin, min_change, p, p_adjusted, mde, needed, pairs, disturbed, criteria, slow_base, slow_new, slow_size,
  slow_found
FROM other.baseline_verdict v JOIN case_map n ON n.old = v.case_id JOIN metric_map y ON y.old = v.metric_id
LEFT JOIN own_base o ON o.base = v.base LEFT JOIN id_list r ON r.text = base_runs AND o.base IS NOT NULL
LEFT JOIN id_list b ON b.text = o.base AND NOT o.is_label
WHERE true ON CONFLICT DO NOTHING;
INSERT INTO main.ceiling(machine_id, device, key, value, measured_ns, evidence)
SELECT m.id, c.device, c.key, c.value, c.measured_ns, c.evidence
FROM other.ceiling c JOIN other.machine o ON o.id = c.machine_id JOIN main.machine m ON m.json = o.json
WHERE NOT EXISTS (SELECT 1 FROM main.ceiling x WHERE x.machine_id = m.id AND x.device = c.device AND x.key = c.key
                  AND x.measured_ns = c.measured_ns);
INSERT OR IGNORE INTO main.curve SELECT m.id, device, measured_ns, lanes, bytes, level, update_bytes_per_s, copy_bytes_per_s,
  triad_bytes_per_s, read_bytes_per_s, stop
FROM other.curve c JOIN other.machine o ON o.id = c.machine_id JOIN main.machine m ON m.json = o.json;
CREATE TEMP TABLE baseline_map AS SELECT b.id AS old, b.id + coalesce((SELECT max(id) FROM main.baseline), 0) AS new
  FROM other.baseline b WHERE b.name NOT IN (SELECT name FROM main.baseline);
INSERT INTO main.baseline(id, name, experiment, follows, pattern, newest)
  SELECT m.new, name, experiment, follows, pattern, newest FROM other.baseline b JOIN baseline_map m ON m.old = b.id;
INSERT INTO main.baseline_run(baseline_id, run_id) SELECT m.new, r.id FROM other.baseline_run p JOIN baseline_map m ON m.old = p.baseline_id
  JOIN other.run o ON o.id = p.run_id JOIN main.run r ON r.uuid = o.uuid;
INSERT INTO main.baseline_change(baseline_id, changed_ns, who, action, meaning, reason)
  SELECT m.new, changed_ns, who, action, meaning, reason
  FROM other.baseline_change c JOIN baseline_map m ON m.old = c.baseline_id ORDER BY c.id;
