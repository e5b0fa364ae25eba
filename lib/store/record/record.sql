-- What recording writes, and what a run that goes on is asked.

-- statement: insert_machine
INSERT INTO machine(json) VALUES(?1) ON CONFLICT DO NOTHING;
-- statement: machine_id
SELECT id FROM machine WHERE json = ?1;

-- The first stands: runs of one machine have one.
-- statement: insert_topology
INSERT INTO topology(machine_id, xml) SELECT ?1, ?2 WHERE ?2 IS NOT NULL ON CONFLICT DO NOTHING;

-- statement: insert_run
INSERT INTO run(experiment, label, command_line, settings, tags, machine_id, git_commit, git_dirty, git_branch, version,
  started_ns, host, boot_id, pid, pid_start_ticks, status, uuid)
VALUES(?, ?, ?, ?, ?, ?, ?, nullif(?, -1), ?, ?, ?, ?, ?, ?, ?, 'running', ?);
-- statement: is_run
SELECT count(*) FROM run WHERE uuid = ?;
-- statement: end_run
UPDATE run SET status = ?2, ended_ns = ?3 WHERE id = ?1;

-- statement: end_spooled_run
UPDATE run SET status = ?2, ended_ns = (SELECT max(l.started_ns + l.elapsed_ns) FROM slice l JOIN run_case c ON c.id = l.case_id WHERE c.run_id = ?1)
WHERE id = ?1 AND status = 'interrupted' AND ?2 IN ('complete', 'failed')
  AND ?4 <= (SELECT count(*) FROM slice l JOIN run_case c ON c.id = l.case_id WHERE c.run_id = ?1 AND l.started_ns >= ?3);

-- statement: next_case_ordinal
SELECT max(ordinal) + 1 FROM run_case WHERE run_id = ?1;
-- statement: insert_case
INSERT INTO run_case(run_id, ordinal, experiment, revision, variant, device, axes, identity, predicted_bytes)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, nullif(?, -1));

-- statement: insert_work
INSERT OR REPLACE INTO work(case_id, metric, flops, bytes, exps, messages, predicted) VALUES(?, ?, ?, ?, ?, ?, ?);
-- statement: insert_setting
INSERT INTO setting(run_id, invocation, key, value) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING;
-- statement: insert_fit
INSERT OR REPLACE INTO fit(run_id, name, metric, axis, kind, experiment, variant, device, fixed, n, slope, slope_low, slope_high,
  intercept, intercept_low, intercept_high, r2)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- statement: insert_counter
INSERT OR REPLACE INTO counter(case_id, region, group_name, name, unit, value, source, native, quality, modes, note)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- statement: insert_ceiling
INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence) VALUES(?, ?, ?, ?, ?, ?);
-- statement: ceiling
WITH k AS (SELECT c.value, c.measured_ns, c.evidence, max(c.evidence) OVER () AS best FROM main.ceiling c
           JOIN main.machine m ON m.id = c.machine_id WHERE m.json = ?1 AND c.device = ?2 AND c.key = ?3),
top AS (SELECT max(value) AS value FROM k WHERE evidence = best)
SELECT coalesce(top.value, 0.0), count(k.value), coalesce(sum(k.evidence = k.best AND k.value >= 0.95 * top.value) > 1, 0),
       coalesce(max(k.measured_ns), 0), coalesce(max(k.best), 0)
FROM top LEFT JOIN k;
-- statement: insert_curve
INSERT INTO curve(machine_id, device, lanes, bytes, level, update_bytes_per_s, copy_bytes_per_s, triad_bytes_per_s, read_bytes_per_s, stop,
  measured_ns)
VALUES(?, ?, ?, ?, ?, nullif(?, 0), nullif(?, 0), nullif(?, 0), nullif(?, 0), ?, ?);
-- query: curve
SELECT lanes, bytes, level,
       max(coalesce(copy_bytes_per_s, 0), coalesce(triad_bytes_per_s, 0), coalesce(read_bytes_per_s, 0)) AS bytes_per_s,
       update_bytes_per_s, copy_bytes_per_s, triad_bytes_per_s, read_bytes_per_s, stop
FROM (SELECT lanes, bytes, min(level) AS level, max(update_bytes_per_s) AS update_bytes_per_s, max(copy_bytes_per_s) AS copy_bytes_per_s,
             max(triad_bytes_per_s) AS triad_bytes_per_s, max(read_bytes_per_s) AS read_bytes_per_s, min(stop) AS stop
      FROM main.curve JOIN main.machine m ON m.id = machine_id
      WHERE m.json = :machine AND device = :device GROUP BY lanes, bytes)
ORDER BY lanes DESC, bytes;

-- statement: insert_metric
INSERT INTO metric(name, unit, direction, class, combine, ranks, source) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;
-- statement: metric_id
SELECT id FROM metric
WHERE name = ? AND unit = ? AND direction = ? AND class = ? AND combine = ? AND ranks = ? AND source = ?;

-- statement: delete_unfinished_slice
DELETE FROM slice WHERE case_id = ?1 AND invocation = ?2 AND pass = ?3 AND status <> 'ok';
-- statement: count_slices
SELECT count(*) FROM slice WHERE case_id = ?1 AND invocation = ?2 AND pass = ?3;
-- statement: insert_slice
INSERT INTO slice(case_id, invocation, pass, status, message, started_ns, elapsed_ns, notes) VALUES(?, ?, ?, ?, ?, ?, ?, ?);
-- statement: insert_slice_trace
INSERT OR REPLACE INTO slice_trace(slice_id, rank, json) VALUES(?, ?, ?);
-- statement: insert_series
INSERT INTO series(slice_id, metric_id, rank, instance, phase, reps) VALUES(?, ?, ?, ?, ?, ?);
-- statement: insert_sample
INSERT INTO sample(series_id, ordinal, value) VALUES (?1,?,?);
-- statement: insert_samples
INSERT INTO sample(series_id, ordinal, value) VALUES
(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),
(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),
(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),
(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),
(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?),(?1,?,?);
-- statement: insert_slice_summary
INSERT INTO slice_summary(slice_id, metric_id, n, figure, median, mean, sd, min, max, p90, p99)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- statement: replace_summary
INSERT OR REPLACE INTO summary(case_id, metric_id, n, invocations, median, ci_low, ci_high, ci_level, mean, sd, min, max, cv)
VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- The noise within processes is pooled over those of the case, as a share of their means; NULL when none has two samples.
-- query: noise_within
SELECT sum((i.n - 1) * (i.sd / i.mean) * (i.sd / i.mean)) / sum(i.n - 1)
FROM v_case c JOIN v_invocation i USING (case_id)
WHERE c.run_id = :run AND c.experiment = :experiment AND c.variant = :variant AND c.device = :device AND c.axes = :axes
  AND i.metric = :metric AND i.n > 1;
-- What each process of a calibration gave, row after row: its figure, its samples, and what it and one iteration took. An iteration is the sum
-- of its regions, whose times on the host are the same time again; those of a whole command are no samples in it.
-- query: calibrated_processes
WITH axis AS (SELECT a.key FROM v_calibration c, json_each(c.axes) a WHERE c.run_id = :base
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1)
SELECT k.ordinal, k.variant, nullif(k.axes, '{}') AS axes,
       (SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(k.axes) a WHERE a.key IN axis) AS place, k.metric, i.n, i.figure,
       i.sd / i.mean AS cv, s.elapsed_ns,
       (SELECT sum(t.mean) FROM v_invocation t WHERE t.case_id = i.case_id AND t.invocation = i.invocation AND t.unit = 'ns'
        AND t.metric NOT IN ('wall_ns', 'user_ns', 'system_ns') AND t.metric NOT LIKE '%\_host\_ns' ESCAPE '\') AS iteration_ns
FROM v_calibration k JOIN v_case c ON c.run_id IN (:base, :new) AND c.ordinal = k.ordinal
JOIN v_invocation i ON i.case_id = c.case_id AND i.metric = k.metric
JOIN v_slice s ON s.case_id = i.case_id AND s.invocation = i.invocation AND s.pass = 'timing'
WHERE k.run_id = :base ORDER BY k.ordinal, k.metric, c.run_id, i.invocation;
-- A row of a tail ("forward_ns:p99") is of a metric that has that name and is otherwise like the metric itself.
-- statement: insert_tail_metric
INSERT INTO main.metric(name, unit, direction, class, combine, ranks, source)
SELECT DISTINCT ?2, k.unit, k.direction, k.class, k.combine, k.ranks, k.source
FROM main.run r JOIN main.run_case c ON c.run_id = r.id JOIN main.summary m ON m.case_id = c.id JOIN main.metric k ON k.id = m.metric_id
WHERE (r.id = ?1 OR r.uuid = ?3) AND k.name = substr(?2, 1, length(?2) - 4) ON CONFLICT DO NOTHING;
-- statement: insert_calibration
INSERT OR IGNORE INTO main.calibration(case_id, metric_id, pairs, disturbed, ratio, p, between_cv, within_cv, pair_sd, floor, min_effect, mde)
SELECT c.id, k.id, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16
FROM main.run_case c JOIN main.summary m ON m.case_id = c.id JOIN main.metric n ON n.id = m.metric_id
JOIN main.metric k ON (k.unit, k.direction, k.class, k.combine, k.ranks, k.source) =
                      (n.unit, n.direction, n.class, n.combine, n.ranks, n.source)
WHERE c.run_id = ?1 AND c.experiment = ?2 AND c.variant = ?3 AND c.device = ?4 AND c.axes = ?5
  AND k.name = ?6 AND n.name IN (?6, iif(?6 GLOB '*:p9[09]', substr(?6, 1, length(?6) - 4), NULL));
-- query: calibrations
SELECT run_id, measured_at, machine, settings, identity, unit, direction, revision, experiment, variant, device, axes, metric, ordinal,
       pairs, disturbed, ratio, p, between_cv, pair_sd, floor, min_effect, mde
FROM v_calibration WHERE run_id IN (SELECT run_id FROM v_run WHERE experiment = :experiment) ORDER BY run_id DESC, ordinal, metric;

-- statement: insert_verdict
INSERT OR IGNORE INTO main.verdict(new_case_id, base_case_id, metric_id, verdict, reason, ratio, ratio_low, ratio_high, difference, difference_low,
  difference_high, margin, min_change, p, p_adjusted, mde, needed, pairs, disturbed, criteria, slow_base, slow_new, slow_size, slow_found)
SELECT n.id, b.id, k.id, ?11, ?12, iif(?13, NULL, ?14), iif(?13, NULL, ?15), iif(?13, NULL, ?16), iif(?13, ?14, NULL),
  iif(?13, ?15, NULL), iif(?13, ?16, NULL), ?17, iif(?18 > 0, ?18, NULL), ?19, ?20, ?21, ?22, ?23, ?24, ?25,
  iif(?28 > 0, ?26, NULL), iif(?28 > 0, ?27, NULL), iif(?28 > 0, ?28, NULL), iif(?28 > 0, ?29, NULL)
FROM main.run_case n JOIN main.summary m ON m.case_id = n.id JOIN main.metric y ON y.id = m.metric_id
JOIN main.metric k ON (k.unit, k.direction, k.class, k.combine, k.ranks, k.source) =
                      (y.unit, y.direction, y.class, y.combine, y.ranks, y.source)
JOIN main.run_case b ON b.run_id = ?1 AND b.experiment = ?3 AND b.variant = ?4 AND b.device = ?5 AND b.axes = ?6
WHERE n.run_id = ?2 AND n.experiment = ?3 AND n.variant = ?7 AND n.device = ?8 AND n.axes = ?9
  AND k.name = ?10 AND y.name IN (?10, iif(?10 GLOB '*:p9[09]', substr(?10, 1, length(?10) - 4), NULL));
-- statement: forget_baseline_verdicts
DELETE FROM main.baseline_verdict
WHERE base = ?2 AND case_id IN (SELECT c.id FROM main.run_case c JOIN main.run r ON r.id = c.run_id WHERE r.uuid = ?1);
-- statement: insert_baseline_verdict
INSERT OR IGNORE INTO main.baseline_verdict(case_id, base, metric_id, base_runs, judged_ns, verdict, reason, ratio, ratio_low, ratio_high, difference,
  difference_low, difference_high, margin, min_change, p, p_adjusted, mde, needed, pairs, disturbed, criteria, slow_base, slow_new, slow_size,
  slow_found)
SELECT c.id, ?2, k.id, ?3, ?4, ?7, ?8, iif(?9, NULL, ?10), iif(?9, NULL, ?11), iif(?9, NULL, ?12), iif(?9, ?10, NULL), iif(?9, ?11, NULL),
  iif(?9, ?12, NULL), ?13, iif(?14 > 0, ?14, NULL), ?15, ?16, ?17, ?18, ?19, ?20, ?21, iif(?24 > 0, ?22, NULL),
  iif(?24 > 0, ?23, NULL), iif(?24 > 0, ?24, NULL), iif(?24 > 0, ?25, NULL)
FROM main.run r JOIN main.run_case c ON c.run_id = r.id JOIN main.summary m ON m.case_id = c.id JOIN main.metric y ON y.id = m.metric_id
JOIN main.metric k ON (k.unit, k.direction, k.class, k.combine, k.ranks, k.source) =
                      (y.unit, y.direction, y.class, y.combine, y.ranks, y.source)
WHERE r.uuid = ?1 AND c.ordinal = ?5
  AND k.name = ?6 AND y.name IN (?6, iif(?6 GLOB '*:p9[09]', substr(?6, 1, length(?6) - 4), NULL));
-- query: verdicts
SELECT experiment, base_variant, base_device, base_axes, variant, device, axes, metric, verdict, reason,
       ratio IS NULL AND difference IS NOT NULL AS absolute,
       coalesce(ratio, difference) AS ratio, iif(ratio IS NULL AND difference IS NOT NULL, difference_low, ratio_low) AS low,
       iif(ratio IS NULL AND difference IS NOT NULL, difference_high, ratio_high) AS high, margin, coalesce(min_change, 0),
       p, p_adjusted, mde, needed, pairs, disturbed, criteria, ordinal, base_uuid, coalesce(slow_base, 0), coalesce(slow_new, 0),
       coalesce(slow_size, 0), slow_found
FROM v_verdict WHERE run_id = :run ORDER BY ordinal, metric, judged_at IS NOT NULL, judged_at DESC;

-- A budget had no room for the slices with the note left_out: bench/session/session.c leaves it.
-- query: resumable_run
SELECT run_id, settings, status = 'interrupted' OR status = 'complete' AND settings ->> 'budget_ns' > 0 AND EXISTS (
  SELECT 1 FROM v_case c WHERE c.run_id = r.run_id AND (c.status = 'ok' AND
    (SELECT count(*) FROM v_slice l WHERE l.case_id = c.case_id AND l.pass = 'timing' AND l.status = 'ok') < settings ->> 'invocations'
    OR c.case_id IN (SELECT case_id FROM v_slice WHERE status = 'skipped' AND notes ->> 'left_out' = 'budget')))
FROM v_run r WHERE experiment = :experiment AND label IS coalesce(:label, label) AND settings ->> 'gate' IS NULL
ORDER BY run_id DESC LIMIT 1;
-- statement: same_machine
SELECT m.json = ?2 FROM run r JOIN machine m ON m.id = r.machine_id WHERE r.id = ?1;
-- statement: take_over_run
UPDATE run SET status = 'running', ended_ns = NULL, host = ?2, boot_id = ?3, pid = ?4, pid_start_ticks = ?5
WHERE id = ?1 AND status <> 'running';
-- query: case_state
SELECT c.case_id, c.status, (SELECT count(*) FROM v_slice l WHERE l.case_id = c.case_id AND l.pass = 'timing' AND l.status = 'ok'),
       c.case_id IN (SELECT case_id FROM v_slice WHERE pass = 'timing' AND status = 'skipped' AND notes ->> 'left_out' = 'budget')
FROM v_case c
WHERE c.run_id = :run AND c.variant = :variant AND c.device = :device AND c.axes = :axes AND c.revision = :revision;
-- query: recorded_passes
SELECT pass, invocation FROM v_slice
WHERE case_id = :case AND pass <> 'timing' AND status <> 'interrupted'
  AND (status = 'skipped' AND notes ->> 'left_out' = 'budget') IS NOT TRUE;
