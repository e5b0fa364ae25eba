-- What is read back of runs: which run a reference means, baselines, and figures.

-- Both runs of a calibration measured noise: nobody means them by "the newest".
-- statement: run_counted_back
SELECT id FROM main.run WHERE CASE WHEN json_valid(settings) THEN settings ->> '$.gate.calibration' END IS NULL
ORDER BY id DESC LIMIT 1 OFFSET ?1;
-- statement: run_of_id
SELECT id FROM main.run WHERE id = ?1;
-- statement: run_of_commit
SELECT max(id) FROM main.run
WHERE length(?1) >= 14 AND git_dirty IS NOT 1 AND substr('commit:' || git_commit, 1, length(?1)) = ?1 AND status = 'complete'
  AND CASE WHEN json_valid(settings) THEN settings ->> '$.gate' IS NULL END;
-- statement: run_of_label
SELECT id FROM main.run WHERE label = ?1 ORDER BY id DESC LIMIT 1;
-- statement: run_of_baseline
SELECT max(run_id) FROM v_baseline_run WHERE name = ?1;

-- query: runs_of_baseline
SELECT run_id FROM v_baseline_run WHERE name = :ref ORDER BY run_id;
-- query: runs_of_commit
SELECT run_id FROM v_run
WHERE length(:ref) >= 14 AND substr('commit:' || git_commit, 1, length(:ref)) = :ref AND git_dirty IS NOT 1 AND status = 'complete'
  AND CASE WHEN json_valid(settings) THEN settings ->> '$.gate' IS NULL END
  AND experiment = (SELECT experiment FROM v_run WHERE run_id = :newest) ORDER BY run_id;
-- query: runs_of_label
SELECT run_id FROM v_run WHERE label = :ref AND (status <> 'running' OR run_id = :newest)
  AND experiment = (SELECT experiment FROM v_run WHERE run_id = :newest) ORDER BY run_id;
-- query: newest_runs
SELECT run_id, label FROM v_run ORDER BY run_id DESC LIMIT 6;

-- Of an entry of a suite: "@" and "@~N" count its runs, the sides of gates apart; other words mean all runs that have them.
-- query: entry_run_counted_back
SELECT run_id FROM v_run WHERE status <> 'running'
  AND CASE WHEN json_valid(tags) THEN tags ->> 'suite' = :suite AND tags ->> 'entry' = :entry END
  AND CASE WHEN json_valid(settings) THEN settings ->> '$.gate' IS NULL END ORDER BY run_id DESC LIMIT 1 OFFSET :back;
-- query: entry_runs_named
SELECT run_id FROM v_run WHERE status <> 'running'
  AND CASE WHEN json_valid(tags) THEN tags ->> 'suite' = :suite AND tags ->> 'entry' = :entry END
  AND (label = :ref OR run_id IN (SELECT run_id FROM v_baseline_run WHERE name = :ref)
       OR (length(:ref) >= 14 AND substr('commit:' || git_commit, 1, length(:ref)) = :ref AND git_dirty IS NOT 1
           AND status = 'complete' AND CASE WHEN json_valid(settings) THEN settings ->> '$.gate' IS NULL END)) ORDER BY run_id;

-- What completion offers.
-- query: runs_offered
SELECT CAST(run_id AS TEXT) FROM v_run ORDER BY run_id DESC LIMIT 40;
-- query: labels_offered
SELECT label FROM v_run WHERE label IS NOT NULL GROUP BY label ORDER BY max(run_id) DESC LIMIT 200;
-- query: metrics_offered
SELECT DISTINCT name FROM main.metric ORDER BY 1 LIMIT 500;

-- query: experiments_recorded
SELECT DISTINCT experiment FROM v_run ORDER BY 1;
-- query: labels_recorded
SELECT DISTINCT label FROM v_run WHERE experiment = :experiment AND label IS NOT NULL ORDER BY 1;
-- query: runs_over
SELECT run_id FROM v_run WHERE experiment = :experiment AND status <> 'running' AND (:label IS NULL OR label = :label)
  AND (:gates OR NOT json_valid(settings) OR json_extract(settings, '$.gate') IS NULL)
ORDER BY started_ns DESC, run_id DESC LIMIT :last;

-- query: baseline_names
SELECT name FROM v_baseline ORDER BY name;
-- statement: baseline_id
SELECT id FROM main.baseline WHERE name = ?1;
-- query: baseline_experiment
SELECT experiment FROM v_baseline WHERE name = :name;
-- statement: baseline_moves
SELECT follows IS NOT NULL FROM main.baseline WHERE id = ?1;
-- query: run_experiment
SELECT experiment, status = 'running' FROM v_run WHERE run_id = :run;

-- The experiment of the newest complete run that a moving baseline may follow, as v_baseline_run says.
-- query: experiment_of_label
SELECT experiment FROM v_run WHERE label = :pattern AND status = 'complete' ORDER BY run_id DESC LIMIT 1;
-- query: experiment_of_tag
SELECT experiment FROM v_run r WHERE status = 'complete'
  AND EXISTS (SELECT 1 FROM json_each(r.tags) t WHERE t.key || '=' || t.value = :pattern) ORDER BY run_id DESC LIMIT 1;
-- query: experiment_of_branch
SELECT experiment FROM v_run WHERE git_branch = :pattern AND git_dirty IS NOT 1 AND status = 'complete'
  AND json_extract(settings, '$.gate') IS NULL ORDER BY run_id DESC LIMIT 1;

-- statement: save_baseline
INSERT INTO main.baseline(name, experiment, follows, pattern, newest) VALUES(?1, ?2, ?3, ?4, nullif(?5, 0))
ON CONFLICT(name) DO UPDATE SET experiment = excluded.experiment, follows = excluded.follows, pattern = excluded.pattern,
  newest = excluded.newest;
-- statement: delete_baseline
DELETE FROM main.baseline WHERE id = ?1;
-- statement: insert_baseline_run
INSERT INTO main.baseline_run(baseline_id, run_id) VALUES(?1, ?2) ON CONFLICT DO NOTHING;
-- statement: delete_baseline_runs
DELETE FROM main.baseline_run WHERE baseline_id = ?1;
-- statement: count_baseline_runs
SELECT count(*) FROM main.baseline_run WHERE baseline_id = ?1;
-- statement: insert_baseline_change
INSERT INTO main.baseline_change(baseline_id, changed_ns, who, action, meaning, reason)
SELECT id, ?2, ?3, ?4, CASE WHEN follows IS NULL THEN
  (SELECT plural_noun(count(*), 'run') || ' ' || group_concat(run_id, ', ') FROM main.baseline_run WHERE baseline_id = ?1)
  ELSE printf('the newest %d with the %s %s', newest, follows, pattern) END, ?5
FROM main.baseline WHERE id = ?1;

-- query: fit_points
SELECT * FROM (
  SELECT c.experiment, c.variant, c.device, json_patch(c.axes, :without) AS fixed,
         coalesce(json_extract(c.axes, :path), z.median) AS x, m.median AS y
  FROM v_case c JOIN v_summary m ON m.case_id = c.case_id LEFT JOIN v_summary z ON z.case_id = c.case_id AND z.metric = :x
  WHERE c.run_id = :run AND c.status = 'ok' AND m.metric = :metric)
WHERE typeof(x) IN ('integer', 'real') AND y IS NOT NULL ORDER BY experiment, variant, device, fixed, x;

-- Few runs have traces, and the index alone says so.
-- query: has_traces
SELECT 1 FROM main.slice WHERE pass = 'trace' AND case_id BETWEEN (SELECT min(id) FROM main.run_case WHERE run_id = :run)
  AND (SELECT max(id) FROM main.run_case WHERE run_id = :run) LIMIT 1;
-- query: kernels
SELECT variant, axes, region, name, time_ns FROM v_kernel WHERE run_id = :run;

-- limit_bytes is the memory that happened to be free: it differs between any two runs and changes no time; choices follow from the
-- library, which is there; not_counted is about requested counters, not about times; each run has
-- its own order_seed.
-- query: run_facts
SELECT r.run_id, r.uuid, r.experiment, r.label, CASE WHEN json_valid(r.tags) THEN r.tags ->> 'entry' END, r.started_at, r.status, r.version,
  substr(r.git_commit, 1, 12) || CASE r.git_dirty WHEN 1 THEN '+' ELSE '' END, r.machine, r.settings,
  (SELECT json_group_object(key, value) FROM (SELECT key, group_concat(value, ' | ') AS value FROM
    (SELECT DISTINCT key, value FROM v_setting WHERE run_id = :run AND key NOT IN ('limit_bytes', 'not_counted', 'uncounted', 'order_seed', 'descriptor')
     AND key NOT GLOB 'not_*.*' AND key NOT LIKE '%choice:%' ORDER BY key, value) GROUP BY key)),
  (SELECT count(*) FROM main.run_case WHERE run_id = :run)
FROM v_run r WHERE r.run_id = :run;

-- statement: machine_of_run
SELECT machine_id FROM main.run WHERE id = ?1;
-- A row of a run that refers to one that is not there: the views leave it out.
-- query: missing_parent
SELECT 'run', id, 'machine', machine_id FROM main.run WHERE id = :run AND machine_id NOT IN (SELECT id FROM main.machine)
UNION ALL
SELECT 'summary', s.case_id, 'metric', s.metric_id FROM main.run_case c JOIN main.summary s ON s.case_id = c.id
WHERE c.run_id = :run AND s.metric_id NOT IN (SELECT id FROM main.metric)
UNION ALL
SELECT 'slice_summary', s.slice_id, 'metric', s.metric_id
FROM main.run_case c JOIN main.slice l ON l.case_id = c.id JOIN main.slice_summary s ON s.slice_id = l.id
WHERE c.run_id = :run AND s.metric_id NOT IN (SELECT id FROM main.metric)
UNION ALL
SELECT 'series', e.id, 'metric', e.metric_id
FROM main.run_case c JOIN main.slice l ON l.case_id = c.id JOIN main.series e ON e.slice_id = l.id
WHERE c.run_id = :run AND e.metric_id NOT IN (SELECT id FROM main.metric) LIMIT 1;

-- query: unfinished_cases
SELECT ordinal, revision, experiment, variant, device, axes, identity, '' AS metric, '' AS unit,
       coalesce(status, 'running'), message FROM v_case WHERE run_id = :run AND status IS NOT 'ok' ORDER BY ordinal;
-- statement: cases_ok
SELECT count(*) FROM v_case WHERE run_id = ?1 AND status = 'ok';

-- The roofline is of every timed case and follows from its times; perturbation is of the passes, not of the case.
-- query: counter_figures
SELECT c.ordinal, c.revision, c.experiment, c.variant, c.device, c.axes, c.identity,
       k.region || iif(k.group_name = '', '', '.' || k.group_name) || '.' || k.name, k.unit, k.group_name, k.source, k.value
FROM main.run r CROSS JOIN main.run_case c ON c.run_id = r.id CROSS JOIN main.counter k ON k.case_id = c.id
WHERE r.id = :run AND ifnull(json_extract(r.settings, '$.counters'), 0) <> 0 AND k.group_name <> 'roofline'
  AND NOT (k.group_name = '' AND k.name = 'perturbation') AND k.value IS NOT NULL
ORDER BY c.ordinal, k.region = 'iteration', k.region, k.group_name, k.name;

-- Where the rows of a run lie; others may lie between them.
-- query: case_range
SELECT min(id), max(id) FROM main.run_case WHERE run_id = :run;
-- query: slice_range
SELECT min(id), max(id) FROM main.slice WHERE case_id BETWEEN :first_case AND :last_case;
-- query: metrics
SELECT id, name, unit, direction, class, source FROM main.metric ORDER BY id;
-- statement: cases_of_range
SELECT id, ordinal, revision, experiment, variant, device, axes, identity FROM main.run_case
WHERE id BETWEEN :first_case AND :last_case AND +run_id = :run ORDER BY id;
-- statement: slices_of_range
SELECT id, case_id, status, invocation, notes FROM main.slice
WHERE id BETWEEN :first_slice AND :last_slice AND +pass = 'timing' ORDER BY id;
-- statement: figures_of_range
SELECT slice_id, metric_id, figure, n, p90, p99 FROM main.slice_summary WHERE slice_id BETWEEN :first_slice AND :last_slice ORDER BY slice_id;
