-- What a page says of a run besides its experiment's tables: run_section.c. Its charts hold for every experiment.

-- query: report_facts
SELECT iif(run_id = :run, 'Run', '') AS name, run_id || coalesce(' (' || label || ')', '') || ', ' || status AS value FROM v_run WHERE run_id = :run
UNION ALL SELECT 'Measured', replace(substr(started_at, 1, 19), 'T', ' ') || ' UTC' || coalesce(' to ' || substr(ended_at, 12, 8), '') || ', perfkit ' || version FROM v_run WHERE run_id = :run
UNION ALL SELECT 'Commit', git_commit || coalesce(' on ' || git_branch, '') || iif(git_dirty = 1, ', with changes that were not committed', '') FROM v_run WHERE run_id = :run AND git_commit <> ''
UNION ALL SELECT 'Tags', tags FROM v_run WHERE run_id = :run AND tags <> '{}'
UNION ALL
SELECT name, group_concat(value, ', ') FROM (
  SELECT CASE m.key WHEN 'host' THEN 'Host' WHEN 'cpu_model' THEN 'CPU' WHEN 'os' THEN 'System' WHEN 'kernel' THEN 'Kernel' WHEN 'compiler' THEN 'Compiler of perfkit'
           WHEN 'virt' THEN 'Virtualisation' WHEN 'governor' THEN 'Governor' WHEN 'turbo' THEN 'Turbo' WHEN 'thp' THEN 'Huge pages' WHEN 'isa' THEN 'Instruction set'
           WHEN 'memory_bytes' THEN 'Memory' WHEN 'l1d_bytes' THEN 'Caches' WHEN 'l2_bytes' THEN 'Caches' WHEN 'l3_bytes' THEN 'Caches'
           WHEN 'sockets' THEN 'Cores' WHEN 'cores' THEN 'Cores' WHEN 'threads' THEN 'Cores' WHEN 'numa_nodes' THEN 'Cores' WHEN 'arch' THEN 'Architecture' ELSE m.key END AS name,
         CASE m.key WHEN 'memory_bytes' THEN printf('%.1f GiB', m.value / 1073741824.0) WHEN 'l1d_bytes' THEN printf('L1d %.0f KiB', m.value / 1024.0)
           WHEN 'l2_bytes' THEN printf('L2 %.0f KiB', m.value / 1024.0) WHEN 'l3_bytes' THEN printf('L3 %.1f MiB', m.value / 1048576.0)
           WHEN 'sockets' THEN plural(m.value, 'socket') WHEN 'cores' THEN plural(m.value, 'core') WHEN 'threads' THEN plural(m.value, 'thread')
           WHEN 'numa_nodes' THEN plural(m.value, 'NUMA node') ELSE CAST(m.value AS TEXT) END AS value,
         instr(' cpu_model cores sockets threads numa_nodes isa l1d_bytes l2_bytes l3_bytes memory_bytes arch host os kernel virt ', ' ' || m.key || ' ') AS place
  FROM v_run r, json_each(iif(json_valid(r.machine), r.machine, '{}')) m
  WHERE r.run_id = :run AND m.value NOT IN ('', 0) AND m.type IN ('text', 'integer', 'real') ORDER BY place = 0, place, m.key) GROUP BY name HAVING name <> '' AND value <> ''
UNION ALL
SELECT * FROM (SELECT key, group_concat(DISTINCT value) FROM v_setting WHERE run_id = :run AND key NOT IN ('limit_bytes', 'descriptor') AND key NOT GLOB 'choice:*' GROUP BY key ORDER BY key LIMIT 40)
UNION ALL SELECT 'Chosen once per run', plural(count(DISTINCT key), 'implementation') FROM v_setting WHERE run_id = :run AND key GLOB 'choice:*' HAVING count(*) > 0;

-- query: report_topology
SELECT t.xml FROM v_topology t JOIN v_run r ON r.machine_id = t.machine_id WHERE r.run_id = :run;

-- query: report_gpus
SELECT DISTINCT value FROM v_setting WHERE run_id = :run AND key = 'gpu' ORDER BY value LIMIT 16;

-- How it was measured, a sentence per row.
-- query: report_methods
SELECT printf('%s of %s measured; %s, each in a new process over the cases in a new order.',
              sum(status = 'ok'), plural(count(*), 'case'),
              plural((SELECT count(DISTINCT invocation) FROM v_slice WHERE run_id = :run AND pass = 'timing'), 'invocation')) AS sentence
FROM v_case WHERE run_id = :run AND status <> 'skipped'
UNION ALL
SELECT printf('%d to %d steady samples of a time per case; medians are those of the processes'' medians.', min(n), max(n)) FROM v_summary
WHERE run_id = :run AND unit = 'ns' AND source = 'region' HAVING count(*) > 0
UNION ALL
SELECT printf('Warm-up: the first samples of each process were cut where the series settled, at most %d of them; they are kept, but in no figure.', max(notes ->> 'warmup_cut'))
FROM v_slice WHERE run_id = :run AND pass = 'timing' AND notes ->> 'warmup_cut' > 0 HAVING count(*) > 0
UNION ALL
SELECT printf('Not in the figures: %s.', group_concat(plural(n, 'slice') || ' of passes that ' || CASE pass WHEN 'counter' THEN 'count events' WHEN 'trace' THEN 'trace kernels'
       WHEN 'memory' THEN 'record allocations' ELSE 'measure ' || pass END, ', '))
FROM (SELECT pass, count(*) AS n FROM v_slice WHERE run_id = :run AND pass <> 'timing' GROUP BY pass) HAVING count(*) > 0
UNION ALL
SELECT printf('Cases without figures: %s.', group_concat(n || ' ' || status, ', '))
FROM (SELECT status, count(*) AS n FROM v_case WHERE run_id = :run AND status NOT IN ('ok', 'skipped') GROUP BY status) HAVING count(*) > 0;

-- query: report_command
SELECT command_line FROM v_run WHERE run_id = :run;

-- query: report_cases
SELECT case_id, variant, device, axes, status, message FROM v_case WHERE run_id = :run ORDER BY ordinal LIMIT :most;

-- query: report_summary
SELECT case_id, metric, unit, direction, n, invocations, median, ci_low, ci_high FROM v_summary WHERE run_id = :run ORDER BY ordinal, metric LIMIT :most;

-- A case by the axes in which not all agree.
-- view: report_case
WITH varying AS (SELECT c.run_id, c.experiment, a.key FROM v_case c, json_each(c.axes) a GROUP BY 1, 2, 3 HAVING count(DISTINCT a.value) > 1)
SELECT c.run_id, c.case_id, c.variant || coalesce(', ' || (SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(c.axes) a WHERE a.key IN
         (SELECT x.key FROM varying x WHERE x.run_id = c.run_id AND x.experiment = c.experiment)), '') AS name
FROM v_case c;

-- chart: gate_verdicts
-- title: Change of each case with its interval
-- mark: range
-- x: ratio
-- y: name
-- interval: ratio_low ratio_high
-- color: verdict
-- guide: 1
-- column: ratio | New / base
-- column: name | Case
-- column: verdict | Verdict | state
-- note: SELECT printf('The %d largest changes of %d.', 60, count(*)) FROM v_verdict WHERE run_id = :run HAVING count(*) > 60
SELECT name || ', ' || metric AS name, ratio, ratio_low, ratio_high, verdict FROM v_verdict JOIN report_case USING (run_id, case_id)
WHERE run_id = :run AND ratio IS NOT NULL ORDER BY abs(ln(ratio)) DESC LIMIT 60;

-- chart: samples
-- title: Samples of each process in their order, of the cases whose times are the most uncertain
-- mark: point
-- x: place
-- x2: until
-- y: relative log
-- color: phase
-- facet: name
-- rule: cut
-- band: process
-- column: place | Process, its samples in their order | | 0
-- column: until | to | | 1
-- column: relative | Time / median | x
-- column: phase | Phase | text
-- column: name | Case
-- column: cut | Cut | text
-- column: process | Process | text
-- note: SELECT 'Dashed: what is before it in a process is its warm-up, which is in no figure.' FROM v_slice WHERE run_id = :run AND pass = 'timing' AND notes ->> 'warmup_cut' > 0 LIMIT 1
WITH chosen AS (SELECT s.case_id, s.metric, s.metric || ' of ' || replace(replace(c.name, ', ', ' '), ' ', ', ') AS name FROM v_summary s JOIN report_case c ON c.run_id = :run AND c.case_id = s.case_id
                WHERE s.run_id = :run AND s.unit = 'ns' AND s.source = 'region' AND s.median > 0 AND s.metric NOT GLOB '*_host_ns'
                ORDER BY s.uncertainty IS NULL, s.uncertainty DESC, s.ordinal LIMIT 6),
sampled AS (SELECT c.name, s.invocation, s.phase, s.value, s.phase IN ('first', 'warmup') AS warming,
                   row_number() OVER (PARTITION BY c.name, s.invocation ORDER BY s.ordinal, s.instance, s.rank) - 1.0 AS nth, count(*) OVER (PARTITION BY c.name, s.invocation) AS n
            FROM chosen c JOIN v_sample s ON s.case_id = c.case_id AND s.metric = c.metric WHERE s.run_id = :run AND s.pass = 'timing'),
middle AS (SELECT name, avg(value) AS median FROM (SELECT name, value, row_number() OVER (PARTITION BY name ORDER BY value) AS place, count(*) OVER (PARTITION BY name) AS n FROM sampled WHERE NOT warming)
           WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY name)
SELECT invocation - 0.5 + nth / n AS place, invocation + 0.5 AS until, value / median AS relative, replace(phase, 'warmup', 'warm-up') AS phase, name, NULL AS cut, 'process ' || invocation AS process
FROM sampled JOIN middle USING (name) WHERE median > 0
UNION ALL SELECT invocation - 0.5 + (max(nth) + 0.5) / n, NULL, NULL, NULL, name, '', NULL FROM sampled WHERE warming GROUP BY name, invocation
ORDER BY name, place;

-- A run among several.
-- query: report_row
SELECT experiment, coalesce(label, '') AS label, replace(substr(started_at, 1, 16), 'T', ' ') AS started, status,
       CAST((SELECT count(*) FROM main.run_case c WHERE c.run_id = r.run_id) AS TEXT) AS cases
FROM v_run r WHERE run_id = :run;
