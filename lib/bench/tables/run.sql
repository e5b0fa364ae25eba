-- What a run prints beside its experiment's tables: tables.c, counter_table.c, states.c.

-- Where it is a run of one command, which measured nothing but it.
-- query: commands_alone
SELECT count(*) FROM v_case WHERE run_id = :run
HAVING min(experiment) = 'exec' AND max(experiment) = 'exec' AND (count(*) > 1 OR min(status) = 'ok');

-- query: experiments
SELECT experiment FROM v_case WHERE run_id = :run GROUP BY experiment ORDER BY min(ordinal);

-- The line above the first table, unless nothing was tried. Of settings that a worker reports for each process, each value once.

-- query: run_title
WITH setting AS (SELECT key, group_concat(DISTINCT value) AS value FROM v_setting
                 WHERE run_id = :run AND key IN ('gpu', 'threads', 'order_seed') GROUP BY key),
     run AS (SELECT *, (SELECT group_concat(DISTINCT device) FROM main.run_case WHERE run_id = :run) AS device
             FROM v_run WHERE run_id = :run)
SELECT iif(:kept, 'Run ' || run_id || coalesce(' (' || label || ')', ''), 'Not kept') || ', ' ||
       replace(substr(started_at, 1, 16), 'T', ' ') || ' UTC: ' || experiment || ' on ' || device ||
       iif(device = 'null', '', ', ' || coalesce((SELECT value FROM setting WHERE key = 'gpu'),
                                                 nullif(machine ->> 'cpu_model', ''), machine ->> 'arch', machine ->> 'host')) ||
       coalesce(', ' || (SELECT plural(value, 'thread') FROM setting WHERE key = 'threads'), '') ||
       ', perfkit ' || version || iif(:brief AND experiment <> 'exec', '', coalesce(', order seed ' || (SELECT value FROM setting WHERE key = 'order_seed'), '')) ||
       iif(status = 'complete', '', ', ' || status) || '.'
FROM run WHERE EXISTS (SELECT 1 FROM v_slice WHERE run_id = :run AND status <> 'skipped');

-- How long peers took before their times begin: note `startup` of their slices.

-- query: startup_notes
SELECT variant || printf(' took %.1f s to start', start_ns * 1e-9) ||
       iif(compile_ns IS NULL, '', printf(' and at most %.1f s to compile a case', compile_ns * 1e-9)) ||
       '; its times leave that out.'
FROM (SELECT c.variant, max(l.notes ->> '$.startup.start_ns') AS start_ns, max(l.notes ->> '$.startup.compile_ns') AS compile_ns
      FROM v_slice l JOIN v_case c ON c.case_id = l.case_id
      WHERE c.run_id = :run AND c.experiment = :experiment AND l.notes ->> '$.startup.start_ns' > 0
      GROUP BY c.variant ORDER BY min(c.ordinal));

-- What ± is: of processes enough for an exact level, and of fewer.

-- query: interval_notes
SELECT '± is the distance from the median of the processes'' medians to the farther end of its ' ||
       CASE WHEN max(ci_level) IS NULL THEN 'approximate 95 % interval.'
            ELSE printf('interval, which contains the true median with a probability of %s%.1f %% (%s%s).',
                        iif(min(ci_level) < max(ci_level), 'at least ', ''), 100 * min(ci_level),
                        iif(min(invocations) < max(invocations), min(invocations) || ' to ', ''), plural(max(invocations), 'process')) END
FROM (SELECT ci_level, iif(ci_level IS NULL, NULL, invocations) AS invocations FROM v_summary
      WHERE run_id = :run AND experiment = :experiment AND ci_low IS NOT NULL) HAVING count(*) > 0;

-- For each reason of v_doubt: how many cases and slices, and the first cases by variant and the axes that differ.

-- query: doubt_notes
WITH varying AS (SELECT a.key FROM v_case c, json_each(c.axes) a WHERE c.run_id = :run AND c.experiment = :experiment
                 GROUP BY a.key HAVING count(DISTINCT a.value) > 1),
     named AS (SELECT c.case_id, c.ordinal, c.variant ||
                      coalesce((SELECT ' ' || group_concat(a.key || '=' || a.value, ' ') FROM json_each(c.axes) a
                                WHERE a.key IN varying), '') AS name
               FROM v_case c WHERE c.run_id = :run AND c.experiment = :experiment),
     doubted AS (SELECT d.doubt, d.meaning, n.name, count(*) AS slices,
                        row_number() OVER (PARTITION BY d.doubt ORDER BY n.ordinal) AS place
                 FROM v_doubt d JOIN named n ON n.case_id = d.case_id
                 WHERE d.run_id = :run AND d.pass = 'timing' GROUP BY d.doubt, n.case_id),
     total AS (SELECT count(DISTINCT l.case_id) AS cases, count(*) AS slices FROM v_slice l JOIN named n ON n.case_id = l.case_id
               WHERE l.run_id = :run AND l.pass = 'timing' AND l.status = 'ok')
SELECT printf('%d of %s (%d of %s) %s: %s%s.', count(*), plural(t.cases, 'case'), sum(d.slices), plural(t.slices, 'slice'),
              predicate(count(*), d.meaning), group_concat(d.name, '; ') FILTER (WHERE d.place <= 3),
              iif(count(*) > 3, printf('; and %d more', count(*) - 3), ''))
FROM doubted d JOIN total t GROUP BY d.doubt ORDER BY d.doubt;

-- The same for who wants each case.

-- table: doubts
-- title: Doubts: what disturbed each case
-- column: variant | Variant | text
-- column: axes | Case | json | hide
-- column: doubt | Doubt | text
-- column: meaning | Meaning | text
-- column: slices | Slices
-- column: of_slices | of
SELECT c.variant, nullif(c.axes, '{}') AS axes, d.doubt, d.meaning, count(*) AS slices,
       (SELECT count(*) FROM v_slice l WHERE l.case_id = c.case_id AND l.pass = 'timing' AND l.status = 'ok') AS of_slices
FROM v_doubt d JOIN v_case c ON c.case_id = d.case_id
WHERE d.run_id = :run AND c.run_id = :run AND c.experiment = :experiment AND d.pass = 'timing'
GROUP BY c.case_id, d.doubt ORDER BY c.ordinal, d.doubt;

-- Under the headline table, besides the line of query disturbed; the gravest first, of which as many are printed as there is room for.

-- query: doubt_lines
SELECT line FROM (
  SELECT 1 AS at, printf('Not measured: %d of %s: %s%s', sum(n), plural((SELECT count(*) FROM v_case WHERE run_id = :run AND status <> 'skipped'), 'case'),
                         max(iif(place = 1, iif(message = '', status, message), '')), iif(count(*) > 1, printf('; and %s', plural(count(*) - 1, 'more reason')), '')) AS line
  FROM (SELECT status, message, count(*) AS n, row_number() OVER (ORDER BY count(*) DESC, min(ordinal)) AS place
        FROM v_case WHERE run_id = :run AND status NOT IN ('ok', 'skipped') GROUP BY status, message) HAVING count(*) > 0
  UNION ALL SELECT 2, note FROM v_interval_note WHERE run_id = :run AND note GLOB 'No *'
  UNION ALL SELECT 3, printf('Uncertain: the interval of a time of %d of %s is wider than ± 10 %%; more --invocations help.', sum(wide), plural(count(*), 'case'))
  FROM (SELECT max(uncertainty) > 0.1 AS wide FROM v_summary WHERE run_id = :run AND unit = 'ns' AND source = 'region' AND uncertainty IS NOT NULL GROUP BY case_id)
  HAVING sum(wide) > 0)
ORDER BY at;

-- How many cases have a doubt, and how many there are.

-- query: disturbed
SELECT count(DISTINCT d.case_id), (SELECT count(DISTINCT case_id) FROM v_slice WHERE run_id = :run AND pass = 'timing' AND status = 'ok')
FROM v_doubt d WHERE d.run_id = :run AND d.pass = 'timing';

-- query: failure_messages
SELECT message, count(*) FROM v_case WHERE run_id = :run AND status = 'failed'
GROUP BY message ORDER BY count(*) DESC, min(ordinal);

-- What --counters named; none where a command was counted as usual.

-- query: counters_option
SELECT 1 FROM v_run WHERE run_id = :run AND typeof(settings ->> 'counters') = 'text';

-- Names in the order of the columns: metrics, events, how much counting cost. Where groups have metrics of one name, the key has
-- the group's, too: "cpu-mem.intensity".

-- query: counter_names
SELECT name, unit, group_name, iif(count(*) OVER (PARTITION BY name) > 1 AND group_name <> '', group_name || '.' || name, name), largest,
       broken
FROM (SELECT name, unit, group_name, min(source) AS source, max(abs(value)) AS largest, max(value <> round(value)) AS broken
      FROM v_counter WHERE run_id = :run AND experiment = :experiment AND value IS NOT NULL AND group_name <> 'roofline'
      GROUP BY name, unit, group_name)
ORDER BY name = 'perturbation', group_name = '', group_name, source, name;

-- One row per value; regions in the order of their names, the whole iteration last. A case is named by the axes in which not all agree.

-- query: counter_values
WITH axis AS (SELECT e.key FROM (SELECT DISTINCT axes FROM v_counter WHERE run_id = :run AND experiment = :experiment) d,
                                json_each(d.axes) e GROUP BY e.key HAVING count(DISTINCT e.value) > 1),
     cases AS (SELECT DISTINCT case_id, variant, axes, ordinal,
                      coalesce((SELECT group_concat(e.key || '=' || e.value, ' ') FROM json_each(axes) e
                                WHERE e.key IN (SELECT key FROM axis)), '') AS name
               FROM v_counter WHERE run_id = :run AND experiment = :experiment)
SELECT c.variant, c.axes, c.name AS "case", k.region, k.name, k.group_name, k.value
FROM v_counter k JOIN cases c ON c.case_id = k.case_id
WHERE k.run_id = :run AND k.group_name <> 'roofline' ORDER BY c.ordinal, k.region = 'iteration', k.region;

-- query: counter_notes
WITH counted AS (SELECT * FROM v_counter WHERE run_id = :run AND experiment = :experiment AND group_name <> 'roofline'),
     noted AS (SELECT DISTINCT name, note, quality, value IS NOT NULL AS known FROM counted WHERE name <> 'perturbation')
SELECT 'Medians per iteration, from passes of their own; times are those of the timing passes.' AS note, 0 AS at
WHERE EXISTS (SELECT 1 FROM counted)
UNION ALL SELECT printf('%s %s not known: %s', group_concat(name, ', '), predicate(count(*), 'are'), note), 1
FROM noted WHERE NOT known AND name NOT IN (SELECT name FROM noted WHERE known) GROUP BY note
UNION ALL SELECT printf('%s %s approximate', group_concat(name, ', '), predicate(count(*), 'are')) || iif(note = '', '', ': ' || note), 2
FROM noted WHERE quality = 'approximate' AND known GROUP BY note
UNION ALL SELECT group_concat(name, ', ') || ': ' || note, 2
FROM noted WHERE quality = 'exact' AND known AND note <> '' GROUP BY note
UNION ALL SELECT 'Counted in user mode only (kernel mode is not permitted): ' || group_concat(name, ', '), 3
FROM (SELECT DISTINCT name FROM counted WHERE modes = 'user') HAVING count(*)
UNION ALL SELECT printf('Counting by ' || native || ' slowed ' || region || ' down by up to %.0f %%, more than processes differ by: '
                        || 'its counts are valid, but rates computed from them may not be.', 100 * max(value)), 4
FROM counted WHERE name = 'perturbation' AND note = '' GROUP BY region HAVING max(value) > 0.02
UNION ALL SELECT printf('cpus_used of %s is above the %d CPUs of this machine: counting begins before the clock of a region and ends '
                        || 'after it, and threads that wait for work are busy meanwhile. The value is correct for much longer regions.',
                        replace(group_concat(DISTINCT region), ',', ', '), threads), 4
FROM counted, (SELECT machine ->> 'threads' AS threads FROM v_run WHERE run_id = :run)
WHERE name = 'cpus_used' AND value > threads HAVING count(*)
UNION ALL SELECT 'Not counted here: ' || value, 5 FROM v_setting WHERE run_id = :run AND invocation = 0 AND key = 'not_counted'
UNION ALL SELECT 'Not counted: ' || substr(key, 13) || ', ' || value || '.', 5 FROM v_setting
WHERE run_id = :run AND invocation = 0 AND key GLOB 'not_counted.*'
UNION ALL SELECT 'Some cases were not counted: ' || value || '.', 6 FROM v_setting
WHERE run_id = :run AND invocation = 0 AND key = 'uncounted'
UNION ALL SELECT 'Some cases were not counted: --budget was used up.', 6
WHERE EXISTS (SELECT 1 FROM v_slice WHERE run_id = :run AND pass = 'counter' AND notes ->> 'left_out' = 'budget')
ORDER BY at, note;

-- The cases whose states are read: their ids are a range, as those of a run are given at once.

-- query: state_cases
SELECT min(id), max(id), (SELECT count(*) FROM main.run_case WHERE run_id = :run) > :most
FROM (SELECT id FROM main.run_case WHERE run_id = :run ORDER BY ordinal LIMIT :most);

-- By the range of cases and not by the run (hence the +), which would read all of them. Shares are of the time of the slices that
-- have a state, all CPUs added up.

-- query: state
WITH f AS MATERIALIZED (SELECT slice_id, name, before, after FROM v_state
                        WHERE case_id BETWEEN :first AND :last AND +run_id = :run AND pass = 'timing'),
     t AS (SELECT sum(elapsed_ns) AS ns FROM main.slice WHERE id IN (SELECT slice_id FROM f)),
     words AS MATERIALIZED (SELECT name, group_concat(DISTINCT iif(before = after, before, before || ' → ' || after)) AS text
                            FROM f WHERE typeof(before) = 'text' AND before <> '' GROUP BY name),
     d AS (SELECT doubt, count(DISTINCT case_id) AS n FROM v_doubt
           WHERE case_id BETWEEN :first AND :last AND +run_id = :run AND pass = 'timing' GROUP BY doubt)
SELECT count(DISTINCT slice_id) AS slices,
       avg((before + after) / 2.0) FILTER (WHERE name = 'load') AS load,
       max(max(before, after)) FILTER (WHERE name = 'load') AS load_most,
       avg((before + after) / 2.0) FILTER (WHERE name = 'frequency_hz') AS frequency_hz,
       min(min(before, after)) FILTER (WHERE name = 'frequency_hz') AS frequency_least_hz,
       sum(after - before) FILTER (WHERE name = 'steal_ns') / (SELECT ns FROM t) AS steal_share,
       sum(after - before) FILTER (WHERE name = 'pressure_cpu_ns') / (SELECT ns FROM t) AS pressure_cpu_share,
       sum(after - before) FILTER (WHERE name = 'pressure_memory_ns') / (SELECT ns FROM t) AS pressure_memory_share,
       sum(after - before) FILTER (WHERE name = 'pressure_io_ns') / (SELECT ns FROM t) AS pressure_io_share,
       sum(after - before) FILTER (WHERE name = 'quota_stops') AS quota_stops,
       sum(after - before) FILTER (WHERE name = 'thermal_stops') AS thermal_stops,
       avg((before + after) / 2.0) FILTER (WHERE name = 'noise_lost') AS noise_lost,
       max(max(before, after)) FILTER (WHERE name = 'noise_worst_ns') AS noise_worst_ns,
       (SELECT text FROM words WHERE name = 'governor') AS governor,
       (SELECT text FROM words WHERE name = 'turbo') AS turbo,
       (SELECT text FROM words WHERE name = 'smt') AS smt,
       (SELECT text FROM words WHERE name = 'thp') AS thp,
       avg((before + after) / 2.0) FILTER (WHERE name = 'sm_clock_hz') AS gpu_clock_hz,
       min(min(before, after)) FILTER (WHERE name = 'sm_clock_hz') AS gpu_clock_least_hz,
       avg((before + after) / 2.0) FILTER (WHERE name = 'power_w') AS gpu_power_w,
       max(max(before, after)) FILTER (WHERE name = 'temperature_c') AS gpu_temperature_c,
       (SELECT text FROM words WHERE name = 'held_back') AS gpu_held_back,
       max(max(before, after)) FILTER (WHERE name = 'other_processes') AS gpu_other_processes,
       (SELECT group_concat(n || ' ' || doubt, ', ') FROM d) AS doubts
FROM f;
