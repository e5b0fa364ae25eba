-- What plans, records and commands read back of a run, or of an earlier one.

-- The newest time of each case, of the newest hundred runs here: a store of years is no reason to wait. `whole` is a JSON list of the
-- metrics that make an iteration.

-- query: stored_times
WITH newest AS (SELECT run_id FROM v_run WHERE experiment = :experiment AND machine = :machine ORDER BY run_id DESC LIMIT 100)
SELECT variant, device, axes, iteration_ns, max(run_id)
FROM (SELECT s.run_id, s.variant, s.device, s.axes, sum(s.median) AS iteration_ns
      FROM newest r JOIN v_summary s ON s.run_id = r.run_id
      WHERE s.experiment = :experiment AND s.revision = :revision AND s.source = 'region'
        AND s.metric IN (SELECT value FROM json_each(:whole))
      GROUP BY s.case_id)
GROUP BY variant, device, axes;

-- query: invocation_summaries
SELECT case_id, invocation, metric, n, median, mean, sd, min, max, figure
FROM v_invocation WHERE run_id = :run ORDER BY case_id, invocation;

-- query: settings
SELECT invocation, key, value FROM v_setting
WHERE run_id = :run AND substr(key, 1, length(:prefix)) = :prefix ORDER BY invocation, key;

-- query: counter_samples
SELECT case_id, invocation, metric, sum(value) AS value FROM v_sample
WHERE run_id = :run AND pass = 'counter' AND phase = 'steady'
  AND (metric LIKE '%.%' OR (unit = 'ns' AND metric LIKE '%\_ns' ESCAPE '\' AND metric NOT LIKE '%\_host\_ns' ESCAPE '\'))
GROUP BY case_id, invocation, metric, ordinal HAVING value IS NOT NULL ORDER BY 1, 2, 3, 4;

-- query: case_times
SELECT s.case_id, s.metric, s.median, i.fastest, i.slowest, w.flops, w.bytes, s.invocations, l.bytes_per_s
FROM v_summary s
LEFT JOIN v_case_level l ON l.run_id = :run AND l.case_id = s.case_id
LEFT JOIN v_work w ON w.case_id = s.case_id AND w.metric = s.metric
LEFT JOIN (SELECT case_id, metric, min(median) AS fastest, max(median) AS slowest FROM v_invocation
           WHERE run_id = :run GROUP BY 1, 2) i ON i.case_id = s.case_id AND i.metric = s.metric
WHERE s.run_id = :run AND s.unit = 'ns' AND s.metric LIKE '%\_ns' ESCAPE '\' ORDER BY 1;

-- query: event_quality
SELECT l.case_id, l.invocation, e.key, e.value ->> 'scaled_from', e.value ->> 'why'
FROM v_slice l, json_each(l.notes, '$.counters.events') e
WHERE l.run_id = :run AND l.pass = 'counter' AND l.status = 'ok' ORDER BY 1;

-- query: spooled_case
SELECT r.run_id, c.case_id
FROM v_run r LEFT JOIN v_case c ON c.run_id = r.run_id AND c.experiment = :experiment AND c.variant = :variant
  AND c.device = :device AND c.axes = :axes
WHERE r.uuid = :uuid OR :uuid = '' AND r.run_id = :run AND c.case_id = :case;

-- The first counter pass of a command is round 0.

-- query: command_events
SELECT l.case_id, l.invocation - (SELECT min(f.invocation) FROM v_slice f WHERE f.case_id = l.case_id AND f.pass = 'counter'), e.key,
       e.value ->> 'scaled_from', e.value ->> 'why',
       (SELECT s.value FROM v_sample s WHERE s.case_id = l.case_id AND s.invocation = l.invocation AND s.pass = 'counter'
          AND s.metric = e.key),
       l.notes ->> '$.counters.ran_ns'
FROM v_slice l, json_each(l.notes, '$.counters.events') e
WHERE l.run_id = :run AND l.pass = 'counter' ORDER BY 1, 2;

-- query: command_time
SELECT s.median, s.min, s.max, s.invocations FROM v_summary s
WHERE s.run_id = :run AND s.case_id = :case AND s.metric = 'wall_ns';
