-- The tables that belong to no experiment: what list, show, export and db print.

-- An experiment without tables of its own prints these six, those that have rows.

-- table: commands
-- title: Commands
-- column: command | Command | text
-- column: mean_ns | Mean (ms) | ms | 3
-- column: sd_ns | SD (ms) | ms | 3 optional2
-- column: median_ns | Median (ms) | ms | 3
-- column: uncertainty | ± % | ± | 1
-- column: ci_low_ns | From (ms) | ms | 3 machine
-- column: ci_high_ns | To (ms) | ms | 3 machine
-- column: min_ns | Min (ms) | ms | 3 optional4
-- column: max_ns | Max (ms) | ms | 3 optional3
-- column: cv | CV (%) | % | 2 optional1
-- column: user_ns | User (ms) | ms | 3
-- column: system_ns | System (ms) | ms | 3
-- column: peak_bytes | Peak memory (MB) | MB | 3
-- column: runs | Runs
-- note: SELECT 'User and System: medians over the runs, child processes included. Peak memory: of the largest process.'
--   WHERE EXISTS (SELECT 1 FROM v_summary WHERE run_id = :run AND metric = 'wall_ns' AND experiment = :experiment)
--     AND :experiment = 'exec'
SELECT coalesce(json_extract(w.axes, '$.command'), w.variant) AS command, w.mean AS mean_ns, w.sd AS sd_ns, w.median AS median_ns,
       w.uncertainty, w.ci_low AS ci_low_ns, w.ci_high AS ci_high_ns, w.min AS min_ns, w.max AS max_ns, w.cv,
       u.median AS user_ns, s.median AS system_ns, p.max AS peak_bytes, w.n AS runs
FROM v_summary w
LEFT JOIN v_summary u ON u.case_id = w.case_id AND u.metric = 'user_ns'
LEFT JOIN v_summary s ON s.case_id = w.case_id AND s.metric = 'system_ns'
LEFT JOIN v_summary p ON p.case_id = w.case_id AND p.metric = 'peak_bytes'
WHERE w.run_id = :run AND w.experiment = :experiment AND w.experiment = 'exec' AND w.metric = 'wall_ns' ORDER BY w.ordinal;

-- The same of a run of one command, in short, on a screen.
-- table: command
-- column: command | Command | text
-- column: median_ns | Median (ms) | ms | 3
-- column: uncertainty | ± % | ± | 1
-- column: mean_ns | Mean (ms) | ms | 3 optional1
-- column: min_ns | Min (ms) | ms | 3 optional3
-- column: max_ns | Max (ms) | ms | 3 optional2
-- column: user_ns | User (ms) | ms | 3
-- column: system_ns | System (ms) | ms | 3
-- column: peak_bytes | Peak (MB) | MB | 3
-- column: runs | Runs
SELECT w.axes ->> '$.command' AS command, w.median AS median_ns, w.uncertainty, w.mean AS mean_ns, w.min AS min_ns, w.max AS max_ns,
       (SELECT median FROM v_summary WHERE case_id = w.case_id AND metric = 'user_ns') AS user_ns,
       (SELECT median FROM v_summary WHERE case_id = w.case_id AND metric = 'system_ns') AS system_ns,
       (SELECT max FROM v_summary WHERE case_id = w.case_id AND metric = 'peak_bytes') AS peak_bytes, w.n AS runs
FROM v_summary w WHERE w.run_id = :run AND w.experiment = :experiment AND w.metric = 'wall_ns' ORDER BY w.ordinal;

-- table: counters
-- title: CPU events of one more run
-- column: command | Command | text
-- column: task_clock_ns | Task clock (ms) | ms | 3
-- column: page_faults | Page faults | | hide
-- column: context_switches | Switches | | hide
-- column: cpu_migrations | Migrations | | hide
-- column: cycles | Cycles | | hide
-- column: instructions | Instructions | | hide
-- column: ipc | IPC | | 2 hide
-- column: branches | Branches | | hide
-- column: branch_misses | Branch misses | | hide
-- column: llc_misses | LLC misses | | hide
-- note: SELECT n.text || json_extract(s.notes, n.key) FROM v_slice s JOIN v_case c USING (case_id)
--   JOIN (SELECT 1 AS at, '$.not_counted' AS key, 'Not counted: ' AS text
--         UNION ALL SELECT 2, '$.user_only', 'Counted in user mode only (kernel mode is not permitted): '
--         UNION ALL SELECT 3, '$.scaled', 'Scaled, because they were multiplexed: ') n
--   WHERE s.run_id = :run AND c.experiment = :experiment AND s.pass = 'counter' AND s.status = 'ok'
--     AND json_extract(s.notes, n.key) IS NOT NULL ORDER BY c.ordinal, n.at
-- note: SELECT 'Not counted: ' || g.value || '.' FROM v_setting g JOIN v_run r USING (run_id)
--   WHERE g.run_id = :run AND g.invocation = 0 AND g.key = 'not_counted' AND typeof(r.settings ->> 'counters') <> 'text'
--     AND :experiment = 'exec'
-- note: SELECT group_concat(k.name, ', ') || ': ' || k.note FROM v_counter k JOIN v_run r USING (run_id)
--   WHERE k.run_id = :run AND k.experiment = :experiment AND k.experiment = 'exec' AND typeof(r.settings ->> 'counters') <> 'text'
--     AND k.note <> '' AND k.name <> 'perturbation' GROUP BY k.note
-- note: SELECT 'Counted in user mode only (kernel mode is not permitted): ' || group_concat(k.name, ', ') FROM v_counter k
--   JOIN v_run r USING (run_id) WHERE k.run_id = :run AND k.experiment = :experiment AND k.experiment = 'exec'
--     AND typeof(r.settings ->> 'counters') <> 'text' AND k.modes = 'user' HAVING count(*)
SELECT coalesce(json_extract(c.axes, '$.command'), c.variant) AS command,
       max(s.value) FILTER (WHERE metric = 'task_clock_ns') AS task_clock_ns,
       max(s.value) FILTER (WHERE metric = 'page_faults') AS page_faults,
       max(s.value) FILTER (WHERE metric = 'context_switches') AS context_switches,
       max(s.value) FILTER (WHERE metric = 'cpu_migrations') AS cpu_migrations,
       max(s.value) FILTER (WHERE metric = 'cycles') AS cycles,
       max(s.value) FILTER (WHERE metric = 'instructions') AS instructions,
       max(s.value) FILTER (WHERE metric = 'instructions') * 1.0 / max(s.value) FILTER (WHERE metric = 'cycles') AS ipc,
       max(s.value) FILTER (WHERE metric = 'branches') AS branches,
       max(s.value) FILTER (WHERE metric = 'branch_misses') AS branch_misses,
       max(s.value) FILTER (WHERE metric = 'llc_misses') AS llc_misses
FROM v_case c JOIN v_sample s ON s.case_id = c.case_id JOIN v_run r ON r.run_id = c.run_id
WHERE c.run_id = :run AND c.experiment = :experiment AND s.pass = 'counter'
  AND typeof(r.settings ->> 'counters') <> 'text' -- those have a table of what they chose
GROUP BY c.case_id ORDER BY c.ordinal;

-- table: case_times
-- title: Times
-- column: variant | Variant | text
-- column: axes | Case | json | hide
-- column: metric | Metric | text
-- column: median_ns | Median (ms) | ms | 3
-- column: uncertainty | ± % | ± | 1
-- column: ci_low_ns | From (ms) | ms | 3 machine
-- column: ci_high_ns | To (ms) | ms | 3 machine
-- column: min_ns | Min (ms) | ms | 3 optional3
-- column: max_ns | Max (ms) | ms | 3 optional2
-- column: cv | CV (%) | % | 2 optional1
-- column: n | n
-- note: SELECT note FROM v_interval_note i JOIN v_run r USING (run_id)
--   WHERE r.run_id = :run AND i.experiment = :experiment AND r.settings ->> '$.import' IS NULL
-- note: SELECT 'Imported from ' || (r.settings ->> '$.import.file') || iif((SELECT min(invocations) FROM v_summary
--   WHERE run_id = :run AND unit = 'ns') < 3, '. No ± where the values are of one process: import the files of several runs with one --label'
--   || ', and compare by the label.', '.') FROM v_run r WHERE r.run_id = :run AND r.settings ->> '$.import' IS NOT NULL
-- note: SELECT 'Summaries of the file, without samples: ' || group_concat(metric, ', ') || '.'
--   FROM (SELECT DISTINCT e.key AS metric FROM v_slice l, json_each(l.notes, '$.summaries') e WHERE l.run_id = :run ORDER BY 1) HAVING count(*)
SELECT variant, nullif(axes, '{}') AS axes, metric, median AS median_ns, uncertainty,
       ci_low AS ci_low_ns, ci_high AS ci_high_ns,
       min AS min_ns, max AS max_ns, cv, n
FROM v_summary WHERE run_id = :run AND experiment = :experiment AND unit = 'ns'
  AND NOT (experiment = 'exec' AND metric IN ('wall_ns', 'user_ns', 'system_ns')) ORDER BY ordinal, metric;

-- chart: times
-- title: Median of each time
-- mark: range
-- x: median_ns log
-- y: name
-- interval: ci_low_ns ci_high_ns
-- color: metric
-- column: median_ns | Time (ms) | ms | 3
-- column: ci_low_ns | From (ms) | ms | 3
-- column: ci_high_ns | To (ms) | ms | 3
-- column: name | Case | text
-- column: metric | Metric | text
-- note: SELECT printf('The first 60 of %d.', count(*)) FROM v_summary WHERE run_id = :run AND unit = 'ns' AND median > 0
--   AND NOT (experiment = 'exec' AND metric <> 'wall_ns') HAVING count(*) > 60
SELECT s.median AS median_ns, s.ci_low AS ci_low_ns, s.ci_high AS ci_high_ns, s.metric,
       iif(s.experiment = 'exec', coalesce(s.axes ->> 'command', s.variant), s.variant || coalesce(' ' || c.text, '') || ', ' || s.metric) AS name
FROM v_summary s JOIN case_axes c ON c.run_id = s.run_id AND c.case_id = s.case_id
WHERE s.run_id = :run AND s.unit = 'ns' AND s.median > 0 AND NOT (s.experiment = 'exec' AND s.metric <> 'wall_ns')
ORDER BY s.ordinal, s.metric LIMIT 60;

-- table: case_memory
-- title: Memory
-- column: variant | Variant | text
-- column: axes | Case | json | hide
-- column: metric | Metric | text
-- column: median_bytes | Median (MB) | MB | 3
-- column: uncertainty | ± % | ± | 1
-- column: ci_low_bytes | From (MB) | MB | 3 machine
-- column: ci_high_bytes | To (MB) | MB | 3 machine
-- column: min_bytes | Min (MB) | MB | 3 optional3
-- column: max_bytes | Max (MB) | MB | 3 optional2
-- column: cv | CV (%) | % | 2 optional1
-- column: n | n
SELECT variant, nullif(axes, '{}') AS axes, metric, median AS median_bytes, uncertainty,
       ci_low AS ci_low_bytes, ci_high AS ci_high_bytes,
       min AS min_bytes, max AS max_bytes, cv, n
FROM v_summary WHERE run_id = :run AND experiment = :experiment AND unit = 'bytes'
  AND NOT (experiment = 'exec' AND metric IN ('peak_bytes')) ORDER BY ordinal, metric;

-- table: case_values
-- title: Other metrics
-- column: variant | Variant | text
-- column: axes | Case | json | hide
-- column: metric | Metric | text
-- column: median | Median
-- column: uncertainty | ± % | ± | 1
-- column: ci_low | From | | machine
-- column: ci_high | To | | machine
-- column: min | Min
-- column: max | Max
-- column: cv | CV (%) | % | 2 optional1
-- column: n | n
-- column: unit | Unit | text
SELECT variant, nullif(axes, '{}') AS axes, metric, median AS median, uncertainty,
       ci_low AS ci_low, ci_high AS ci_high,
       min AS min, max AS max, cv, n, unit
FROM v_summary WHERE run_id = :run AND experiment = :experiment AND unit NOT IN ('ns', 'bytes')
  AND NOT (experiment = 'exec' AND metric IN ('page_faults', 'context_switches')) ORDER BY ordinal, metric;

-- table: case_problems
-- title: Cases without a result
-- column: variant | Variant | text
-- column: axes | Case | json | hide
-- column: status | Status | state
-- column: message | Message | text
SELECT variant, nullif(axes, '{}') AS axes, status, message
FROM v_case WHERE run_id = :run AND experiment = :experiment AND status <> 'ok' ORDER BY ordinal;

-- Regions in the probe's order, which is that of a trace pass's note.
-- view: breakdown_place
SELECT l.case_id, r.value ->> 'region' AS region, min(r.key) AS place, min(r.value ->> 'host_ns') AS host_ns,
       min(r.value ->> 'launch_ns') AS launch_ns
FROM v_slice l, json_each(l.notes, '$.breakdown.regions') r WHERE l.pass = 'trace' AND l.status = 'ok' GROUP BY 1, 2;

-- view: trace_overhead
SELECT c.run_id, c.case_id, c.experiment, c.variant, c.axes, o.key AS place, o.value ->> 'kind' AS kind, o.value ->> 'calls' AS calls,
       o.value ->> 'time_ns' AS time_ns, (l.notes ->> '$.breakdown.regions[0].busy_ns') + (l.notes ->> '$.breakdown.regions[0].gap_ns') AS iteration_ns,
       c.ordinal
FROM v_slice l JOIN v_case c USING (case_id), json_each(l.notes, '$.breakdown.overhead') o WHERE l.pass = 'trace' AND l.status = 'ok';

-- view: traced_family
SELECT * FROM v_breakdown;

-- view: longest_kernel
SELECT case_id, region, family, name
FROM (SELECT *, row_number() OVER (PARTITION BY case_id, region, family ORDER BY time_ns DESC) AS place FROM v_kernel) WHERE place = 1;

-- table: breakdown
-- title: Where the time went
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text
-- column: region | Region | text
-- column: family | Family | text
-- column: calls | Calls
-- column: time_ns | Time (ms) | ms | 3
-- column: share | Share (%) | % | 1
-- column: flops | FLOPs ({unit}) | GFLOP TFLOP | 3 hide optional5
-- column: flops_per_s | {unit} | GFLOP/s TFLOP/s | 1 hide optional4
-- column: bytes | Bytes (GB) | GB | 3 hide optional3
-- column: bytes_per_s | GB/s | GB/s | 1 hide optional2
-- column: longest | Longest | text | optional1
-- note: SELECT CASE WHEN r.settings ->> '$.import' IS NULL THEN 'One typical iteration of a trace pass; its times differ from those of the tables above.'
--   ELSE 'The step of median length in the trace of the file, or the whole trace where it has no steps.' END || ' Gaps are idle time between kernels or operations.'
--   FROM v_run r WHERE r.run_id = :run AND EXISTS (SELECT 1 FROM traced_family WHERE run_id = :run AND experiment = :experiment)
-- note: SELECT 'attention is fused: it includes softmax and both products (' || group_concat(DISTINCT variant) || ').'
--   FROM traced_family WHERE run_id = :run AND experiment = :experiment AND family = 'attention' HAVING count(*)
-- note: SELECT 'FLOPs and bytes are declared by each operation, every pass over memory counted; rates are over the time of the family.' FROM traced_family WHERE run_id = :run AND experiment = :experiment AND (flops > 0 OR bytes > 0) LIMIT 1
-- note: SELECT 'In captured graphs, the products of attention that stores its scores are counted in gemm, because kernel names do not tell them apart ('
--   || group_concat(DISTINCT c.variant) || ').' FROM v_slice s JOIN v_case c USING (case_id) WHERE c.run_id = :run
--   AND c.experiment = :experiment AND s.pass = 'trace' AND s.notes ->> '$.breakdown.folded' HAVING count(*)
-- note: SELECT family || ' (' || group_concat(DISTINCT variant) || ') has no kernels of its own: kernels of captured graphs are assigned by name, so'
--   || ' its time is counted in other families, whose rates are then too low.' FROM traced_family WHERE run_id = :run
--   AND experiment = :experiment AND region <> 'iteration' AND calls = 0 GROUP BY family
-- note: SELECT 'Not traced: ' || substr(key, 12) || ', ' || value || '.' FROM v_setting
--   WHERE run_id = :run AND invocation = 0 AND key GLOB 'not_traced.*'
-- note: SELECT 'Shares of a region add up to more than 100 % where kernels ran at the same time.' FROM traced_family b
--   WHERE b.run_id = :run AND b.experiment = :experiment AND b.region <> 'iteration' GROUP BY b.case_id, b.region
--   HAVING sum(b.time_ns) > 1.005 * max(b.busy_ns) LIMIT 1
-- note: SELECT 'Above the measured ceiling, which is too low (run `perfkit doctor --ceilings` on an idle machine): '
--   || replace(group_concat(DISTINCT b.variant || ' ' || b.region || ' ' || b.family), ',', ', ') || '.'
--   FROM traced_family b JOIN v_run r ON r.run_id = b.run_id
--   JOIN v_ceiling k ON k.run_id = b.run_id AND k.device = coalesce(r.settings ->> 'ceilings_of', b.device)
--     AND k.key = coalesce(b.axes ->> 'dtype', 'fp32') || '_flops_per_s'
--   WHERE b.run_id = :run AND b.experiment = :experiment AND b.region <> 'iteration' AND b.flops * 1e9 > k.value * b.time_ns AND b.time_ns > 0
--   HAVING count(*)
-- note: SELECT 'Incomplete traces: ' || count(*) || ' (more kernels than the log can hold).' FROM (SELECT DISTINCT case_id FROM traced_family
--     WHERE run_id = :run AND experiment = :experiment AND NOT whole) HAVING count(*)
WITH axis AS (SELECT a.key FROM v_case c, json_each(c.axes) a WHERE c.run_id = :run AND c.experiment = :experiment
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1),
part AS (SELECT case_id, variant, axes, region, family, calls, time_ns, nullif(flops, 0) AS flops, nullif(bytes, 0) AS bytes,
                busy_ns + gap_ns AS whole_ns, gap_ns, ordinal FROM traced_family
         WHERE run_id = :run AND experiment = :experiment AND region <> 'iteration'),
line AS (SELECT case_id, variant, axes, region, family, calls, time_ns, time_ns * 1.0 / whole_ns AS share, flops, bytes, ordinal, 0 AS last FROM part
         UNION ALL SELECT DISTINCT case_id, variant, axes, region, 'gaps', NULL, gap_ns, gap_ns * 1.0 / whole_ns, NULL, NULL, ordinal, 1 FROM part)
SELECT variant, axes, coalesce((SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(axes) a WHERE a.key IN axis), '') AS "case",
       region, family, calls, time_ns, share, flops, 1e9 * flops / nullif(time_ns, 0) AS flops_per_s, bytes,
       1e9 * bytes / nullif(time_ns, 0) AS bytes_per_s,
       k.name AS longest
FROM line JOIN breakdown_place p USING (case_id, region) LEFT JOIN longest_kernel k USING (case_id, region, family) ORDER BY ordinal, place, last, time_ns DESC;

-- The trace pass held against the timing pass; what is imported has times of the trace itself.
-- table: breakdown_regions
-- title: Traced and timed
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text
-- column: region | Region | text
-- column: busy_ns | Kernels (ms) | ms | 3
-- column: gap_ns | Gaps (ms) | ms | 3
-- column: traced_ns | Both (ms) | ms | 3
-- column: timed_ns | Timed median (ms) | ms | 3 hide
-- column: off | Off by (%) | % | 1 hide
-- column: agrees | Within 4 % | text | hide
-- column: host_bound | Host-bound (%) | % | 1 hide
-- column: launch | Launch (%) | % | 1 hide
-- note: SELECT 'Host-bound: the GPU was idle and the host had not begun to launch the next kernel; launch: idle from there until it ran; in % of both. The'
--   || ' profiler slows the host, so host-bound time is at most this.' FROM breakdown_place JOIN v_case c USING (case_id)
--   WHERE c.run_id = :run AND c.experiment = :experiment AND host_ns IS NOT NULL LIMIT 1
-- note: SELECT 'Kernels: the union of their times (on a CPU: of the operations). Where both differ by more than 4 %, the shares above may differ from those of the'
--   || ' timed pass.' FROM traced_family JOIN v_run r USING (run_id) WHERE run_id = :run AND r.settings ->> '$.import' IS NULL AND traced_family.experiment = :experiment LIMIT 1
WITH axis AS (SELECT a.key FROM v_case c, json_each(c.axes) a WHERE c.run_id = :run AND c.experiment = :experiment
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1),
traced AS (SELECT DISTINCT case_id, variant, axes, region, busy_ns, gap_ns, busy_ns + gap_ns AS traced_ns, ordinal FROM traced_family
           WHERE run_id = :run AND experiment = :experiment AND region <> 'iteration'),
held AS (SELECT r.*, t.median AS timed_ns, r.traced_ns / t.median - 1 AS off
         FROM traced r LEFT JOIN v_summary t ON t.case_id = r.case_id AND t.metric = r.region || '_ns'
           AND EXISTS (SELECT 1 FROM v_run v WHERE v.run_id = :run AND v.settings ->> '$.import' IS NULL))
SELECT variant, axes, coalesce((SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(axes) a WHERE a.key IN axis), '') AS "case",
       region, busy_ns, gap_ns, traced_ns, timed_ns, off, CASE WHEN abs(off) <= 0.04 THEN 'yes' WHEN off IS NOT NULL THEN 'no' END AS agrees,
       1.0 * host_ns / nullif(traced_ns, 0) AS host_bound, 1.0 * launch_ns / nullif(traced_ns, 0) AS launch
FROM held JOIN breakdown_place p USING (case_id, region) ORDER BY ordinal, place;

-- What the profiler and the driver did beside the traced iteration.
-- table: overheads
-- title: Overhead of tracing
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text
-- column: kind | Overhead | text
-- column: calls | Calls
-- column: time_ns | Time (ms) | ms | 3
-- column: share | Of the iteration (%) | % | 1
-- note: SELECT 'Time of threads of the host during the traced iteration, as the profiler (CUPTI) reports it; no timing pass has it. The first three kinds'
--   || ' are its own. The delay is in "Off by" of the table above.' FROM trace_overhead WHERE run_id = :run AND experiment = :experiment LIMIT 1
WITH axis AS (SELECT a.key FROM v_case c, json_each(c.axes) a WHERE c.run_id = :run AND c.experiment = :experiment
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1)
SELECT variant, axes, coalesce((SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(axes) a WHERE a.key IN axis), '') AS "case",
       kind, calls, time_ns, 1.0 * time_ns / nullif(iteration_ns, 0) AS share
FROM trace_overhead WHERE run_id = :run AND experiment = :experiment ORDER BY ordinal, place;

-- v_kernel with the launch of the longest call, which a GPU's profiler tells.
-- view: kernel_launch
SELECT k.*, n.launch ->> '$.registers' AS registers, n.launch ->> '$.static_bytes' AS static_shared_bytes,
       n.launch ->> '$.dynamic_bytes' AS dynamic_shared_bytes, n.launch ->> '$.local_bytes' AS local_bytes, n.launch ->> '$.occupancy' AS occupancy,
       n.launch ->> '$.limited_by' AS occupancy_limit, n.launch -> '$.grid' AS grid, n.launch -> '$.block' AS block
FROM v_kernel k LEFT JOIN (
    SELECT l.case_id, e.value ->> 'region' AS region, e.value ->> 'family' AS family, e.value ->> 'name' AS name, e.value -> '$.launch' AS launch
    FROM v_slice l, json_each(l.notes, '$.breakdown.kernels') e WHERE l.pass = 'trace' AND l.status = 'ok') n
ON n.case_id = k.case_id AND n.region = k.region AND n.family = k.family AND n.name = k.name;

-- table: kernels
-- title: Kernels and what they need of a multiprocessor
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text
-- column: region | Region | text
-- column: name | Kernel | text
-- column: calls | Calls
-- column: time_ns | Time (ms) | ms | 3
-- column: threads | Threads
-- column: registers | Registers
-- column: static_shared_bytes | Static (KiB) | KiB | 1 optional3
-- column: dynamic_shared_bytes | Dynamic (KiB) | KiB | 1 optional2
-- column: local_bytes | Local (bytes) | | hide optional1
-- column: occupancy | Occupancy (%) | % | 0
-- column: occupancy_limit | Limit | text
-- note: SELECT 'Kernels with at least 1 % of the traced time of their case; the launch is that of the longest call. Occupancy is the share of the threads of'
--   || ' a multiprocessor that the kernel can use at most, not what it used (--counters gpu_occupancy).'
--   FROM kernel_launch WHERE run_id = :run AND experiment = :experiment AND registers > 0 LIMIT 1
WITH axis AS (SELECT a.key FROM v_case c, json_each(c.axes) a WHERE c.run_id = :run AND c.experiment = :experiment
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1),
k AS (SELECT *, sum(time_ns) OVER (PARTITION BY case_id) AS case_ns FROM kernel_launch WHERE run_id = :run AND experiment = :experiment)
SELECT variant, axes, coalesce((SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(axes) a WHERE a.key IN axis), '') AS "case",
       region, name, calls, time_ns, (block ->> 0) * (block ->> 1) * (block ->> 2) AS threads, registers, static_shared_bytes,
       dynamic_shared_bytes, nullif(local_bytes, 0) AS local_bytes, occupancy, occupancy_limit
FROM k WHERE registers > 0 AND time_ns >= 0.01 * case_ns ORDER BY ordinal, time_ns DESC;

-- view: varying_axis
SELECT c.run_id, c.experiment, a.key FROM v_case c, json_each(c.axes) a GROUP BY 1, 2, 3 HAVING count(DISTINCT a.value) > 1;

-- A case by the axes in which not all agree.
-- view: case_axes
SELECT c.run_id, c.case_id, c.variant, (SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(c.axes) a WHERE a.key IN
         (SELECT x.key FROM varying_axis x WHERE x.run_id = c.run_id AND x.experiment = c.experiment)) AS text
FROM v_case c;

-- view: memory_moment
SELECT c.run_id, c.case_id, c.experiment, c.ordinal, c.variant, c.axes, p.key AS kind, e.key AS place, e.value ->> 'region' AS region,
       e.value ->> 'bytes' AS bytes, coalesce(e.value ->> 'parameters', 0) AS parameters_bytes,
       coalesce(e.value ->> 'gradients', 0) AS gradients_bytes, coalesce(e.value ->> 'optimizer', 0) AS optimizer_bytes,
       coalesce(e.value ->> 'activations', 0) AS activations_bytes, coalesce(e.value ->> 'workspace', 0) AS workspace_bytes,
       coalesce(e.value ->> 'input', 0) + coalesce(e.value ->> 'other', 0) AS other_bytes,
       CASE p.key WHEN 'regions' THEN (SELECT max(json_extract(t.notes, '$.found.predicted_peaks.' || (e.value ->> 'region')))
         FROM v_slice t WHERE t.case_id = c.case_id AND t.pass = 'timing') END AS predicted_bytes,
       s.notes ->> '$.memory.whole' AS whole
FROM v_slice s JOIN v_case c ON c.case_id = s.case_id, json_each(s.notes, '$.memory') p, json_each(p.value) e
WHERE s.pass = 'memory' AND p.key IN ('regions', 'timeline');

-- view: memory_label by label
SELECT m.*, m.variant || coalesce(' ' || c.text, '') AS label FROM memory_moment m JOIN case_axes c USING (case_id);

-- table: memory_peaks
-- title: Where the memory went: the peak of each region
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text
-- column: region | Region | text
-- column: bytes | Peak (GB) | GB | 3
-- column: predicted_bytes | Predicted (GB) | GB | 3 hide
-- column: parameters_bytes | Parameters | GB | 3
-- column: gradients_bytes | Gradients | GB | 3
-- column: optimizer_bytes | Optimizer | GB | 3
-- column: activations_bytes | Activations | GB | 3
-- column: workspace_bytes | Workspace | GB | 3
-- column: other_bytes | Inputs, other | GB | 3 optional1
-- note: SELECT 'One iteration of a memory pass that records every allocation. Parts are the memory in use at the peak.'
--   FROM memory_moment WHERE run_id = :run AND experiment = :experiment LIMIT 1
-- note: SELECT 'outside: memory outside every region, such as freeing the activations that a forward pass kept.'
--   FROM memory_moment WHERE run_id = :run AND experiment = :experiment AND kind = 'regions' AND region = 'outside' LIMIT 1
-- note: SELECT 'Incomplete: more allocations than the log can hold.' FROM memory_moment WHERE run_id = :run AND experiment = :experiment AND NOT whole LIMIT 1
SELECT m.variant, m.axes, coalesce(c.text, '') AS "case", m.region, m.bytes, m.predicted_bytes,
       m.parameters_bytes, m.gradients_bytes, m.optimizer_bytes, m.activations_bytes, m.workspace_bytes, m.other_bytes
FROM memory_moment m JOIN case_axes c USING (case_id)
WHERE m.run_id = :run AND m.experiment = :experiment AND m.kind = 'regions'
ORDER BY m.ordinal, m.place;

-- table: memory_timeline
-- title: Memory over one iteration, {each}
-- each: SELECT label FROM memory_label WHERE run_id = :run AND experiment = :experiment GROUP BY label ORDER BY min(ordinal)
-- column: place | place | | 0 machine
-- column: region | Region | text
-- column: bytes | Live ({unit}) | MB GB | 3
-- column: drawn | P parameters, G gradients, O optimizer, A activations, w workspace, i inputs and other | text
-- column: parameters_bytes | parameters_bytes | | 0 machine
-- column: gradients_bytes | gradients_bytes | | 0 machine
-- column: optimizer_bytes | optimizer_bytes | | 0 machine
-- column: activations_bytes | activations_bytes | | 0 machine
-- column: workspace_bytes | workspace_bytes | | 0 machine
-- column: other_bytes | other_bytes | | 0 machine
SELECT place, region, bytes,
       replace(hex(zeroblob(round(parameters_bytes * scale))), '00', 'P') || replace(hex(zeroblob(round(gradients_bytes * scale))), '00', 'G') ||
       replace(hex(zeroblob(round(optimizer_bytes * scale))), '00', 'O') || replace(hex(zeroblob(round(activations_bytes * scale))), '00', 'A') ||
       replace(hex(zeroblob(round(workspace_bytes * scale))), '00', 'w') || replace(hex(zeroblob(round(other_bytes * scale))), '00', 'i') AS drawn,
       parameters_bytes, gradients_bytes, optimizer_bytes, activations_bytes, workspace_bytes, other_bytes
FROM (SELECT *, 60.0 / max(max(bytes) OVER (), 1) AS scale FROM memory_label
      WHERE run_id = :run AND experiment = :experiment AND label = :each AND kind = 'timeline')
ORDER BY place;

-- chart: memory_over_time
-- title: Memory over one iteration
-- mark: area
-- x: place
-- x2: until
-- y: bytes
-- color: part
-- facet: label
-- band: region
-- column: place | Allocations, in their order
-- column: until | to
-- column: bytes | Memory (MB) | MB | 3
-- column: part | Part | text
-- column: region | Region | text
-- column: label | Case | text
-- note: SELECT 'With each region its peak.' || iif(count(DISTINCT label) > 4, printf(' The largest %d of %d cases.', 4, count(DISTINCT label)), '') FROM memory_label WHERE run_id = :run AND kind = 'timeline' HAVING count(*) > 0
WITH shown AS (SELECT label FROM memory_label WHERE run_id = :run AND kind = 'timeline' GROUP BY label ORDER BY max(bytes) DESC, min(ordinal) LIMIT 4),
moment AS (SELECT m.*, lead(m.place, 1, m.place) OVER (PARTITION BY m.label ORDER BY m.place) AS until
           FROM memory_label m WHERE run_id = :run AND kind = 'timeline' AND label IN (SELECT label FROM shown))
SELECT m.place, m.until, CASE p.column1 WHEN 'parameters' THEN m.parameters_bytes WHEN 'gradients' THEN m.gradients_bytes WHEN 'optimizer' THEN m.optimizer_bytes
       WHEN 'activations' THEN m.activations_bytes WHEN 'workspace' THEN m.workspace_bytes ELSE m.other_bytes END AS bytes, p.column1 AS part,
       printf('%s %.3g MB', m.region, max(m.bytes) OVER (PARTITION BY m.label, m.region) / 1e6) AS region, m.label
FROM moment m JOIN (VALUES ('parameters'), ('optimizer'), ('gradients'), ('activations'), ('workspace'), ('inputs, other')) p
ORDER BY m.ordinal, m.place;

-- chart: breakdown_shares
-- title: Share of each family of operations in each region
-- mark: stack
-- x: region
-- y: share
-- color: family
-- facet: label
-- column: region | Region | text
-- column: share | Share (%) | % | 1
-- column: family | Family | text
-- column: label | Case | text
-- note: SELECT 'Of one traced iteration.' || iif(count(DISTINCT case_id) > 8, printf(' The longest 8 of %d cases.', count(DISTINCT case_id)), '') FROM v_breakdown WHERE run_id = :run HAVING count(*) > 0
WITH shown AS (SELECT case_id FROM v_breakdown WHERE run_id = :run GROUP BY case_id ORDER BY max(busy_ns + gap_ns) DESC, min(ordinal) LIMIT 8),
part AS (SELECT b.case_id, b.region, b.family, b.time_ns * 1.0 / (b.busy_ns + b.gap_ns) AS share, b.ordinal FROM v_breakdown b JOIN shown USING (case_id) WHERE b.busy_ns + b.gap_ns > 0
         UNION ALL SELECT case_id, region, 'gaps', max(gap_ns) * 1.0 / max(busy_ns + gap_ns), min(ordinal) FROM v_breakdown JOIN shown USING (case_id)
         WHERE busy_ns + gap_ns > 0 GROUP BY case_id, region),
ranked AS (SELECT family, row_number() OVER (ORDER BY family = 'gaps' DESC, max(share) DESC) AS place FROM part GROUP BY family)
SELECT iif(p.region = 'iteration', 'whole', p.region) AS region, sum(p.share) AS share, iif(r.place <= 7, p.family, 'others') AS family, a.variant || coalesce(', ' || replace(a.text, ' ', ', '), '') AS label
FROM part p JOIN ranked r USING (family) JOIN case_axes a USING (case_id) LEFT JOIN breakdown_place o USING (case_id, region)
GROUP BY p.case_id, p.region, min(r.place, 8)
ORDER BY p.region = 'iteration', min(o.place), min(p.ordinal), min(r.place, 8) = 1, min(r.place, 8);

-- view: roofline
SELECT w.run_id, w.case_id, w.experiment, w.device, w.variant, w.axes, w.region, w.ordinal, w.flops, w.bytes, w.flops_from, w.bytes_from,
       w.intensity, w.flops_per_s, w.attainable_flops_per_s, CASE w.memory_bound WHEN 1 THEN 'memory' WHEN 0 THEN 'compute' END AS bound,
       w.share_of_roof, m.lives_in, w.note, m.counting
FROM (SELECT run_id, case_id, experiment, device, variant, axes, region, ordinal,
             max(value) FILTER (WHERE name = 'flops') AS flops, max(value) FILTER (WHERE name = 'bytes') AS bytes,
             max(source) FILTER (WHERE name = 'flops') AS flops_from, max(source) FILTER (WHERE name = 'bytes') AS bytes_from,
             max(value) FILTER (WHERE name = 'intensity') AS intensity, max(value) FILTER (WHERE name = 'flops_per_s') AS flops_per_s,
             max(value) FILTER (WHERE name = 'attainable_flops_per_s') AS attainable_flops_per_s,
             max(value) FILTER (WHERE name = 'memory_bound') AS memory_bound,
             max(value) FILTER (WHERE name = 'share_of_roof') AS share_of_roof, max(note) FILTER (WHERE name = 'share_of_roof') AS note
      FROM v_counter WHERE group_name = 'roofline' GROUP BY case_id, region) w
JOIN (SELECT l.case_id, typeof(r.settings ->> 'counters') = 'text' AS counting, l.level AS lives_in
      FROM v_case_level l JOIN v_run r ON r.run_id = l.run_id) m ON m.case_id = w.case_id;

-- Of runs that counted: what is declared alone is in the experiment's own tables, as % of floor.
-- chart: roofline
-- title: Roofline: FLOP/s over FLOPs per byte
-- mark: point
-- x: intensity log
-- y: flops_per_s log
-- color: series
-- facet: region
-- fit: attainable_flops_per_s
-- column: intensity | FLOP/byte | | 2
-- column: flops_per_s | Reached (GFLOP/s) | GFLOP/s | 3
-- column: attainable_flops_per_s | Attainable (GFLOP/s) | GFLOP/s | 3
-- column: series | Variant | text
-- column: region | Region | text
-- note: SELECT 'Roofs, dashed: the lower of the fp32 rate and intensity × bandwidth of the levels of memory in which cases live, as measured on this device. Regions with the most FLOPs.'
--   FROM roofline WHERE run_id = :run AND flops > 0 LIMIT 1
WITH point AS (SELECT r.*, count(*) FILTER (WHERE r.region <> 'iteration') OVER () AS parts FROM roofline r WHERE r.run_id = :run AND r.intensity > 0 AND r.flops_per_s > 0),
shown AS (SELECT region, max(flops) AS flops FROM point WHERE region <> 'iteration' OR parts = 0 GROUP BY region ORDER BY max(flops) DESC LIMIT 3),
ends AS (SELECT min(intensity) / 2 AS low, 2 * max(intensity) AS high FROM point JOIN shown USING (region)),
roof AS (SELECT DISTINCT l.level, l.place, l.bytes_per_s, k.value AS flops_per_s
         FROM point p JOIN v_run r ON r.run_id = p.run_id
         JOIN v_level l ON l.run_id = p.run_id AND l.device = coalesce(r.settings ->> 'ceilings_of', p.device) AND l.level = p.lives_in
         JOIN v_ceiling k ON k.run_id = p.run_id AND k.device = l.device AND k.key = 'fp32_flops_per_s')
SELECT intensity, flops_per_s, attainable_flops_per_s, series, region
FROM (SELECT p.intensity, p.flops_per_s, NULL AS attainable_flops_per_s, p.variant AS series, p.region, s.flops, 0 AS place, p.ordinal FROM point p JOIN shown s USING (region)
      UNION ALL SELECT x.value, NULL, min(r.flops_per_s, x.value * r.bytes_per_s), iif(r.level = 'between', 'roof between caches and memory', 'roof of ' || r.level), s.region, s.flops, 1, r.place
      FROM roof r JOIN shown s JOIN ends e, json_each(json_array(e.low, min(max(r.flops_per_s / r.bytes_per_s, e.low), e.high), e.high)) x)
ORDER BY place, flops DESC, ordinal, intensity;

-- table: roofline
-- title: Roofline
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text
-- column: region | Region | text
-- column: flops_from | FLOPs from | text | optional1
-- column: bytes_from | Bytes from | text | optional2
-- column: intensity | FLOP/byte | | 2
-- column: flops_per_s | Reached ({unit}) | GFLOP/s TFLOP/s | 1
-- column: attainable_flops_per_s | Attainable ({unit}) | GFLOP/s TFLOP/s | 1
-- column: bound | Bound by | text
-- column: share_of_roof | % of roof | % | 1 over
-- column: above_roof | | json | machine
-- column: lives_in | Level | text | optional3
-- note: SELECT 'Attainable: the lower of the fp32 rate and intensity × bandwidth, as measured on this device (perfkit doctor --ceilings): of memory for bytes that were counted there, '
--   || 'for declared ones of the case''s memory level. Bound by: the lower of the two. Without FLOPs, % of roof is relative to the bandwidth.'
--   WHERE EXISTS (SELECT 1 FROM roofline WHERE run_id = :run AND experiment = :experiment AND counting)
-- note: SELECT DISTINCT 'The roof of some cases is ' || CASE WHEN share_of_roof IS NULL THEN 'not known: ' ELSE 'approximate: ' END || note
--   FROM roofline WHERE run_id = :run AND experiment = :experiment AND counting AND note <> ''
-- note: SELECT '! above 100 % of the roof of ' || group_concat(DISTINCT iif(bound = 'compute', 'compute', iif(bytes_from = 'declared', lives_in, 'memory')))
--   || ': the ceilings are too low (`perfkit doctor --ceilings` on an idle machine)' || iif(max(coalesce(bound, '') <> 'compute'),
--   ', or most of the bytes stayed in a faster level than that of the whole case, or were updated in place.', '.')
--   FROM roofline WHERE run_id = :run AND experiment = :experiment AND counting AND share_of_roof > 1.000000001 HAVING count(*)
WITH axis AS (SELECT a.key FROM v_case c, json_each(c.axes) a WHERE c.run_id = :run AND c.experiment = :experiment
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1)
SELECT variant, axes, coalesce((SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(axes) a WHERE a.key IN axis), '') AS "case",
       region, flops_from, bytes_from, intensity, flops_per_s, attainable_flops_per_s, bound, share_of_roof,
       iif(share_of_roof > 1.000000001, 'true', 'false') AS above_roof, lives_in
FROM roofline WHERE run_id = :run AND experiment = :experiment AND counting
ORDER BY ordinal, region = 'iteration', region;

-- table: runs
-- title: Runs
-- empty: keep
-- column: run_id | Run
-- column: label | Label | text
-- column: started_at | Started (UTC) | text
-- column: status | Status | state
-- column: experiment | Experiment | text | optional3
-- column: cases | Cases | | optional2
-- column: git_commit | Commit | text | machine
-- column: command_line | Command | text | clip optional1
-- note: SELECT 'in ' || :path
SELECT run_id, label, started_at, status, experiment,
       (SELECT count(*) FROM v_case c WHERE c.run_id = r.run_id AND c.status = 'ok') AS cases, git_commit, command_line
FROM v_run r ORDER BY run_id DESC;

-- table: info
-- title: Store
-- column: path | File | text
-- column: bytes | Size (MB) | MB | 1
-- column: schema_version | Schema
-- column: runs | Runs
-- column: running | Running
-- column: cases | Cases
-- column: slices | Slices
-- column: samples | Samples
-- column: newest | Newest run (UTC) | text
SELECT :path AS path, (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS bytes,
       (SELECT user_version FROM pragma_user_version) AS schema_version, (SELECT count(*) FROM v_run) AS runs,
       (SELECT count(*) FROM v_run WHERE status = 'running') AS running, (SELECT count(*) FROM v_case) AS cases,
       (SELECT count(*) FROM v_slice) AS slices, (SELECT count(*) FROM main.sample) AS samples,
       (SELECT max(started_at) FROM v_run) AS newest;

-- Of all runs of an export, so that each of its rows has the same columns.
-- query: axis_names
SELECT DISTINCT a.key FROM json_each(:runs) r JOIN main.run_case c ON c.run_id = r.value,
  json_each(CASE WHEN json_valid(c.axes) THEN c.axes ELSE '{}' END) a WHERE typeof(a.key) = 'text' ORDER BY a.key LIMIT 1001;

-- table: export_runs
-- empty: keep
-- column: machine | machine | json
-- column: settings | settings | json
-- column: tags | tags | json
SELECT * FROM v_run WHERE run_id = :run;

-- table: export_cases
-- empty: keep
-- column: axes | axes | json | members
-- column: identity | identity | json
SELECT * FROM v_case WHERE run_id = :run ORDER BY ordinal;

-- table: export_summary
-- empty: keep
-- column: axes | axes | json | members
-- column: identity | identity | json
SELECT * FROM v_summary WHERE run_id = :run ORDER BY ordinal, metric;

-- table: export_samples
-- empty: keep
-- column: axes | axes | json | members nested
SELECT s.*, c.experiment, c.variant, c.device, c.axes FROM v_sample s JOIN main.run_case c ON c.id = s.case_id WHERE s.run_id = :run;

-- table: export_invocations
-- empty: keep
SELECT * FROM v_invocation WHERE run_id = :run ORDER BY case_id, invocation, metric;

-- table: export_slices
-- empty: keep
-- column: notes | notes | json
SELECT * FROM v_slice WHERE run_id = :run ORDER BY case_id, invocation, pass;

-- table: export_fits
-- empty: keep
-- column: fixed | fixed | json
SELECT * FROM v_fit WHERE run_id = :run ORDER BY name, experiment, variant, device, fixed;

-- table: export_kernels
-- empty: keep
-- column: axes | axes | json | members
-- column: grid | grid | json
-- column: block | block | json
SELECT * FROM kernel_launch WHERE run_id = :run ORDER BY ordinal, region, time_ns DESC;

-- table: export_usage
-- empty: keep
-- column: axes | axes | json | members
SELECT c.run_id, c.case_id, c.experiment, c.device, c.variant, c.axes, l.invocation, m.value ->> 0 AS at_ns, m.value ->> 1 AS power_watts,
       m.value ->> 2 AS sm_busy, m.value ->> 3 AS warps_active, m.value ->> 4 AS tensor_busy, m.value ->> 5 AS dram_used, c.ordinal
FROM v_slice l JOIN v_case c USING (case_id), json_each(l.notes, '$.moments') m
WHERE c.run_id = :run AND l.pass = 'counter' AND l.status = 'ok' ORDER BY c.ordinal, l.invocation, m.key;

-- table: export_counters
-- empty: keep
-- column: axes | axes | json | members
SELECT * FROM v_counter WHERE run_id = :run ORDER BY ordinal, region, group_name, name;

-- table: export_roofline
-- empty: keep
-- column: axes | axes | json | members
SELECT run_id, case_id, experiment, device, variant, axes, region, flops, bytes, flops_from, bytes_from, intensity, flops_per_s,
       attainable_flops_per_s, bound, share_of_roof, lives_in, note, ordinal
FROM roofline WHERE run_id = :run ORDER BY ordinal, region;

-- table: export_states
-- empty: keep
SELECT * FROM v_state WHERE run_id = :run ORDER BY case_id, invocation, pass, source, name;

-- table: export_doubts
-- empty: keep
SELECT * FROM v_doubt WHERE run_id = :run ORDER BY case_id, invocation, pass, doubt;

-- table: export_breakdown
-- empty: keep
-- column: axes | axes | json | members
SELECT * FROM v_breakdown WHERE run_id = :run ORDER BY ordinal, region, family;

-- table: export_memory
-- empty: keep
-- column: axes | axes | json | members
SELECT m.run_id, m.case_id, m.experiment, m.variant, m.axes, CASE m.kind WHEN 'regions' THEN 'peak' ELSE m.kind END AS kind, m.place, m.region, m.bytes,
       m.predicted_bytes,
       m.parameters_bytes, m.gradients_bytes, m.optimizer_bytes, m.activations_bytes, m.workspace_bytes, m.other_bytes, m.whole, m.ordinal
FROM memory_moment m WHERE m.run_id = :run ORDER BY m.ordinal, m.kind, m.place;

-- table: export_timeline
-- empty: keep
-- column: axes | axes | json | members
SELECT * FROM v_timeline WHERE run_id = :run ORDER BY ordinal, invocation, started_ns, ended_ns;

-- table: export_topology
-- empty: keep
SELECT r.run_id, t.machine_id, t.xml FROM v_topology t JOIN v_run r ON r.machine_id = t.machine_id WHERE r.run_id = :run;

-- table: export_settings
-- empty: keep
SELECT * FROM v_setting WHERE run_id = :run ORDER BY invocation, key;

-- table: calibration
-- title: Noise of equal work
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text | hide
-- column: metric | Metric | text
-- column: between_cv | Processes ± % | % | 2
-- column: within_cv | Within one ± % | % | 2 hide
-- column: pair_sd | Pairs ± % | % | 2
-- column: ratio | b / a | | 4
-- column: p | p | p | 3 optional1
-- column: pairs | Pairs
-- column: disturbed | Left out | | hide
-- column: floor | Noise floor (%) | % | 2
-- column: min_effect | Suggested (%) | % | 2
-- column: mde | MDE (%) | % | 2
-- note: SELECT 'a and b were the same, so b / a differs from 1 only by chance; ± is a standard deviation. A gate cannot tell changes below the noise floor'
--   || ' from none; with the suggested --min-effect it finds a regression as large as MDE 19 times in 20.'
--   WHERE EXISTS (SELECT 1 FROM v_calibration WHERE run_id = :run)
WITH axis AS (SELECT a.key FROM v_calibration c, json_each(c.axes) a WHERE c.run_id = :run
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1)
SELECT variant, nullif(axes, '{}') AS axes,
       (SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(axes) a WHERE a.key IN axis) AS "case", metric, between_cv, within_cv, pair_sd, ratio, p, pairs, nullif(disturbed, 0) AS disturbed,
       floor, min_effect, mde
FROM v_calibration WHERE run_id = :run AND (experiment = :experiment OR :experiment = 'exec') ORDER BY ordinal, metric;

-- table: verdicts
-- title: Verdicts of the gate
-- column: base_run_id | Base run | | 0 hide optional5
-- column: base | Against | text | hide
-- column: base_runs | Its runs | text | hide optional2
-- column: judged_at | Judged (UTC) | text | machine
-- column: run_id | New | | 0 optional5
-- column: variant | Variant | text
-- column: axes | axes | json | machine
-- column: case | Case | text | hide
-- column: metric | Metric | text
-- column: ratio | New / base | | 3
-- column: ratio_low | 95 % interval | | 3 interval
-- column: difference | Difference | | 4 hide
-- column: unit | Unit | text | hide
-- column: margin | Margin (%) | % | 2 optional4
-- column: p_adjusted | p adjusted | p | 4 hide optional3
-- column: verdict | Verdict | state
-- column: slow_base | Slow base | | 0 optional2
-- column: slow_new | Slow new | | 0 optional2
-- column: reason | Why | text | machine
-- note: SELECT coalesce('Against ' || base || ': ', '') || count(*) || ' ' || verdict || ': ' || reason_text(reason) || '.' FROM v_verdict
--   WHERE run_id = :run AND experiment = :experiment AND reason <> 'proved' GROUP BY base, verdict, reason
-- note: SELECT 'These are the verdicts of the gate. `perfkit compare ' || base_run_id || ' ' || run_id || '` prints the figures, and judges them again if other'
--   || ' thresholds are given.' FROM v_verdict WHERE run_id = :run AND base_run_id LIMIT 1
-- note: SELECT 'Against ' || base || ' these are the verdicts of ' || max(judged_at) || '.'
--   || iif(base GLOB '*[?]*', '', ' `perfkit gate --against ' || base || ' ' || run_id || '` judges again.')
--   FROM v_verdict WHERE run_id = :run AND base IS NOT NULL GROUP BY base
WITH axis AS (SELECT a.key FROM v_verdict v, json_each(v.axes) a WHERE v.run_id = :run
              GROUP BY a.key HAVING count(DISTINCT a.value) > 1)
SELECT base_run_id, base, base_runs, judged_at, run_id, CASE WHEN variant = base_variant THEN variant ELSE base_variant || ' -> ' || variant END AS variant,
       nullif(axes, '{}') AS axes,
       (SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(axes) a WHERE a.key IN axis) AS "case", metric, ratio, ratio_low,
       ratio_high, difference, iif(difference IS NULL, NULL, unit) AS unit, margin, p_adjusted, verdict, slow_base, slow_new, nullif(reason, 'proved') AS reason
FROM v_verdict WHERE run_id = :run AND experiment = :experiment
ORDER BY judged_at IS NOT NULL, judged_at DESC, base, base_run_id, ordinal, metric;

-- table: baselines
-- title: Baselines
-- empty: keep
-- column: name | Baseline | text
-- column: experiment | Experiment | text
-- column: kind | Kind | text
-- column: follows | Follows | text | hide
-- column: pattern | Value | text | hide
-- column: newest | At most | | hide
-- column: runs | Runs
-- column: newest_run | Newest
-- column: changed_at | Decided (UTC) | text
-- column: who | Who | text
-- column: reason | Reason | text | hide
-- note: SELECT 'in ' || :path
-- note: SELECT 'Fewer than 5 runs are unreplicated (ratios without verdicts): ' || group_concat(name, ', ') || '.'
--   FROM v_baseline WHERE runs < 5 HAVING count(*)
SELECT b.name, b.experiment, b.kind, b.follows, b.pattern, b.newest, b.runs, b.newest_run, c.changed_at, c.who, c.reason
FROM v_baseline b LEFT JOIN v_baseline_change c ON c.change_id = (SELECT max(change_id) FROM v_baseline_change x WHERE x.name = b.name)
ORDER BY b.name;

-- table: baseline
-- title: Baseline
-- column: name | Baseline | text
-- column: experiment | Experiment | text
-- column: kind | Kind | text
-- column: follows | Follows | text | hide
-- column: pattern | Value | text | hide
-- column: newest | At most | | hide
-- column: runs | Runs
-- column: newest_run | Newest
-- note: SELECT plural(runs, 'run') || ': a baseline with fewer than 5 separate runs is unreplicated and gives ratios without verdicts.' FROM v_baseline WHERE name = :name AND runs < 5
SELECT name, experiment, kind, follows, pattern, newest, runs, newest_run FROM v_baseline WHERE name = :name;

-- table: baseline_runs
-- title: Its runs
-- column: run_id | Run
-- column: label | Label | text | hide
-- column: started_at | Started (UTC) | text
-- column: status | Status | state
-- column: git_commit | Commit | text | machine
-- column: command_line | Command | text | clip
SELECT r.run_id, r.label, r.started_at, r.status, r.git_commit, r.command_line
FROM v_baseline_run b JOIN v_run r ON r.run_id = b.run_id WHERE b.name = :name ORDER BY r.run_id DESC;

-- table: baseline_changes
-- title: Decisions
-- column: changed_at | When (UTC) | text
-- column: who | Who | text
-- column: action | What | text
-- column: meaning | Runs | text
-- column: reason | Reason | text | hide
SELECT changed_at, who, action, meaning, reason FROM v_baseline_change WHERE name = :name ORDER BY change_id;
