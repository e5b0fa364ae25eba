-- The public interface of a store. Recreated whenever a migration runs: a change here needs a new migration file.
-- Plain SQL only, so that they work in any SQLite client. docs/store.md says what each column means.

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

-- The slice that decides a case's status: timing passes before others, then the gravest word; an interrupted slice counts
-- only when there is nothing else. Without any slice the case was interrupted, once its run is over.
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

-- What is to be said of the intervals of an experiment's times: that there are none, or that they are approximate. No row when all are exact.
CREATE VIEW v_interval_note AS
SELECT run_id, experiment,
       printf(CASE WHEN min(invocations) < 3 THEN 'No ±: an interval needs three processes (%s 3); the fewest here are %d.'
                   ELSE '± is approximate with fewer than six processes (%s 6); the fewest here are %d.' END,
              CASE experiment WHEN 'exec' THEN '--runs' ELSE '--invocations' END, min(invocations)) AS note
FROM v_summary WHERE unit = 'ns' AND invocations < 6 GROUP BY run_id, experiment;

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

-- The ceilings a run is judged by: of all repeats on its machine before it ended those with the most evidence, and of these the highest,
-- so that a saved run prints the same numbers for ever. Confirmed: a second repeat came within 5 % of it.
CREATE VIEW v_ceiling AS
SELECT run_id, device, key, value, measured_ns, repeats, coalesce(next >= 0.95 * value, 0) AS confirmed, evidence
FROM (SELECT r.id AS run_id, k.device, k.key, k.value, k.measured_ns, k.evidence, row_number() OVER w AS place,
             CASE lead(k.evidence) OVER w WHEN k.evidence THEN lead(k.value) OVER w END AS next,
             count(*) OVER (PARTITION BY r.id, k.device, k.key) AS repeats
      FROM run r JOIN ceiling k ON k.machine_id = r.machine_id
      WHERE r.ended_ns IS NULL OR k.measured_ns <= r.ended_ns
      WINDOW w AS (PARTITION BY r.id, k.device, k.key ORDER BY k.evidence DESC, k.value DESC, k.id))
WHERE place = 1;

-- The rate over size of the memory of a run's device, of several arrays: the highest of all repeats before the run ended. A size that one repeat found between
-- the caches and memory is between them.
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

-- The levels of a device's memory, all lanes: one has room for more than above_bytes, up to to_bytes (memory: NULL). No row before version 15.
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

-- The level in which the bytes of a case live: its peak memory, or what was predicted of it. Without levels (a store that was measured before
-- version 15): 'cache' where the last-level cache has room for them. The rate of memory where the bytes are not known.
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

-- The notes "state" and "state:SOURCE" of a slice: {"name": [before, after]}.
CREATE VIEW v_state AS
SELECT c.run_id, l.case_id, l.invocation, l.pass, CASE n.key WHEN 'state' THEN 'machine' ELSE substr(n.key, 7) END AS source,
       e.key AS name, json_extract(e.value, '$[0]') AS before, json_extract(e.value, '$[1]') AS after, l.id AS slice_id
FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes) n, json_each(n.value) e
WHERE (n.key = 'state' OR n.key GLOB 'state:*') AND n.type = 'object' AND e.type = 'array';

-- Why a slice is doubtful, a row per reason: what its samples show, and the words of its notes "doubts" and "doubts:SOURCE".
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

-- Medians over a counter pass's samples, of one iteration, and what groups derive from them (group_name not empty). value NULL: not
-- known, and note says for want of what. Events named perturbation say by how much counting slowed the region down.
CREATE VIEW v_counter AS
SELECT c.run_id, k.case_id, c.experiment, c.device, c.variant, c.axes, k.region, k.name, k.unit, k.value, k.group_name, k.source,
       k.native, k.quality, k.modes, k.note, c.ordinal
FROM counter k JOIN run_case c ON c.id = k.case_id;

-- Where the time of a typical traced iteration went (note "breakdown" of trace passes). A row per region and family; flops and bytes are
-- those that its ops declared; busy_ns and gap_ns are the region's: the union of its kernels' intervals, and the idle time between them.
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

-- The kernels or ops of the same iteration that took longest.
CREATE VIEW v_kernel AS
SELECT c.run_id, l.case_id, c.experiment, c.device, c.variant, c.axes, json_extract(k.value, '$.region') AS region,
       json_extract(k.value, '$.family') AS family, json_extract(k.value, '$.name') AS name,
       json_extract(k.value, '$.calls') AS calls, json_extract(k.value, '$.time_ns') AS time_ns, c.ordinal
FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes, '$.breakdown.kernels') k
WHERE l.pass = 'trace' AND l.status = 'ok';

-- When the parts of one iteration ran, of each rank: a JSON object (lib/timeline/spans.h).
CREATE VIEW v_trace AS
SELECT c.run_id, l.case_id, l.invocation, l.pass, t.rank, t.json AS trace, l.id AS slice_id
FROM slice_trace t JOIN slice l ON l.id = t.slice_id JOIN run_case c ON c.id = l.case_id;

-- The all-reduces of gradients in the last iteration of a slice (note "timeline"), in the order in which they were started; ns since its
-- backward pass began.
CREATE VIEW v_timeline AS
SELECT c.run_id, l.case_id, c.experiment, c.device, c.variant, c.axes, l.invocation, b.key AS bucket, json_extract(b.value, '$[0]') AS bytes,
       json_extract(b.value, '$[1]') AS ready_ns, json_extract(b.value, '$[2]') AS started_ns, json_extract(b.value, '$[3]') AS ended_ns,
       json_extract(l.notes, '$.timeline.backward_ns') AS backward_ns, c.ordinal
FROM slice l JOIN run_case c ON c.id = l.case_id, json_each(l.notes, '$.timeline.reduces') b
WHERE l.pass = 'timing' AND l.status = 'ok';

-- The runs that a baseline stands for now.
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

-- What calibrations found, in shares; run_id and case_id are those of the base.
CREATE VIEW v_calibration AS
SELECT c.run_id, k.case_id, strftime('%Y-%m-%dT%H:%M:%SZ', r.started_ns / 1000000000, 'unixepoch') AS measured_at, a.json AS machine,
       r.settings, c.experiment, c.device, c.variant, c.axes, m.name AS metric, m.unit, m.direction, k.pairs, k.disturbed, k.ratio, k.p,
       k.between_cv, k.within_cv, k.pair_sd, k.floor, k.min_effect, k.mde, c.ordinal, c.revision, c.identity
FROM calibration k JOIN metric m ON m.id = k.metric_id JOIN run_case c ON c.id = k.case_id JOIN run r ON r.id = c.run_id
JOIN machine a ON a.id = r.machine_id;

-- What gates concluded. run_id, case_id, variant and axes are those of the new side; columns with base_ are those of the base. Against stored
-- runs the base has a name, the ids of its runs and the time when it was judged instead of a run and a case.
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
