-- What timelines are made of (timeline.c). Notes are of any file: an array is looked into only where there is one, and numbers are checked
-- by who reads them.

-- query: timeline_run
SELECT r.run_id, r.experiment, r.label, r.command_line, r.started_at, r.version, r.status,
       EXISTS (SELECT 1 FROM main.slice l JOIN main.run_case c ON c.id = l.case_id
               WHERE c.run_id = :run AND (:phases OR EXISTS (SELECT 1 FROM main.slice_trace t WHERE t.slice_id = l.id AND json_valid(t.json))
                     OR CASE WHEN l.pass = 'timing' AND json_valid(l.notes) THEN json_type(l.notes, '$.timeline') = 'object' END)) AS has_timeline,
       EXISTS (SELECT 1 FROM main.slice l JOIN main.run_case c ON c.id = l.case_id
               WHERE c.run_id = :run AND l.pass IN ('trace', 'memory') AND l.status = 'ok') AS has_passes
FROM v_run r WHERE r.run_id = :run;

-- query: timeline_slices
SELECT l.id, l.pass, l.invocation, l.status, l.started_ns - (SELECT min(f.started_ns) FROM main.slice f JOIN main.run_case g ON g.id = f.case_id
       WHERE g.run_id = :run) AS started_ns, l.elapsed_ns, c.device, c.variant,
       (SELECT group_concat(a.key || '=' || a.value, ' ') FROM json_each(CASE WHEN json_valid(c.axes) THEN c.axes ELSE '{}' END) a) AS axes,
       CASE WHEN json_valid(l.notes) THEN json_extract(l.notes, '$.ranks.size') END AS ranks
FROM main.slice l JOIN main.run_case c ON c.id = l.case_id
WHERE c.run_id = :run AND (:phases OR (l.status = 'ok' AND (EXISTS (SELECT 1 FROM main.slice_trace t WHERE t.slice_id = l.id AND json_valid(t.json))
                                       OR CASE WHEN l.pass = 'timing' AND json_valid(l.notes) THEN json_type(l.notes, '$.timeline') = 'object' END)))
ORDER BY CASE WHEN :phases THEN l.started_ns END, c.ordinal, l.pass = 'memory', l.pass = 'timing', l.invocation, l.id;

-- What a slice has, and of which rank: traces, and notes "timeline", of rank 0 the word alone. All-reduces are those of timing passes, as in
-- v_timeline: tracing them slows them down.
-- query: timeline_parts
SELECT 1 AS is_trace, rank FROM main.slice_trace WHERE slice_id = :slice AND json_valid(json)
UNION ALL
SELECT 0, CASE WHEN instr(n.key, ':') THEN CAST(substr(n.key, instr(n.key, ':') + 1) AS INTEGER) ELSE 0 END
FROM main.slice l, json_each(l.notes) n
WHERE l.id = :slice AND json_valid(l.notes) AND l.pass = 'timing' AND n.type = 'object' AND (n.key = 'timeline' OR n.key GLOB 'timeline:[1-9]*')
ORDER BY rank, is_trace DESC LIMIT 4096;

-- query: timeline_names
SELECT n.value FROM main.slice_trace l, json_each(l.json, '$.names') n WHERE l.slice_id = :slice AND l.rank = :rank ORDER BY n.id LIMIT 262144;

-- query: timeline_length
SELECT max(CASE r.type WHEN 'array' THEN r.value ->> m.begin_at + r.value ->> (m.begin_at + 1) WHEN 'object' THEN r.value ->> 'at_ns' END)
FROM main.slice_trace l, (SELECT '$.regions' AS path, 2 AS begin_at UNION ALL SELECT '$.regions', 4 UNION ALL SELECT '$.pieces', 4 UNION ALL SELECT '$.ops', 4
                    UNION ALL SELECT '$.memory', 0) m, json_each(l.json, m.path) r WHERE l.slice_id = :slice AND l.rank = :rank;

-- kind 0: a region, 1: when its pieces ran, 2: a piece of work, 3: the call that launched it
-- query: timeline_spans
SELECT 0 AS kind, r.value ->> 0 AS name, r.value ->> 1 AS lane, NULL AS family, NULL AS region, r.value ->> 2 AS begin_ns,
       r.value ->> 3 AS length_ns, NULL AS launched_ns
FROM main.slice_trace l, json_each(l.json, '$.regions') r WHERE l.slice_id = :slice AND l.rank = :rank AND r.type = 'array'
UNION ALL
SELECT 1, r.value ->> 0, NULL, NULL, NULL, r.value ->> 4, r.value ->> 5, NULL
FROM main.slice_trace l, json_each(l.json, '$.regions') r WHERE l.slice_id = :slice AND l.rank = :rank AND CASE r.type WHEN 'array' THEN json_array_length(r.value) > 5 END
UNION ALL
SELECT 2, p.value ->> 0, p.value ->> 1, p.value ->> 2, p.value ->> 3, p.value ->> 4, p.value ->> 5, p.value ->> 6
FROM main.slice_trace l, json_each(l.json, '$.pieces') p WHERE l.slice_id = :slice AND l.rank = :rank AND p.type = 'array'
UNION ALL
SELECT 3, o.value ->> 0, o.value ->> 1, o.value ->> 2, o.value ->> 3, o.value ->> 4, o.value ->> 5, NULL
FROM main.slice_trace l, json_each(l.json, '$.ops') o WHERE l.slice_id = :slice AND l.rank = :rank AND o.type = 'array'
ORDER BY begin_ns, length_ns DESC, kind;

-- query: timeline_memory
SELECT p.value ->> 'at_ns' AS at_ns, p.value ->> 'bytes' AS bytes, json_remove(p.value, '$.at_ns', '$.bytes') AS tags
FROM main.slice_trace l, json_each(l.json, '$.memory') p WHERE l.slice_id = :slice AND l.rank = :rank AND p.type = 'object' ORDER BY at_ns, p.id;

-- query: timeline_reduces_length
SELECT max(end_ns) FROM (SELECT json_extract(l.notes, :backward) AS end_ns FROM main.slice l WHERE l.id = :slice
                         UNION ALL SELECT b.value ->> 3 FROM main.slice l, json_each(l.notes, :reduces) b WHERE l.id = :slice AND b.type = 'array');

-- kind 0: the backward pass, 1: an all-reduce, 2: a gradient is complete
-- query: timeline_reduces
SELECT 0 AS kind, NULL AS bucket, NULL AS bytes, 0 AS begin_ns, json_extract(l.notes, :backward) AS end_ns, NULL AS ready_ns
FROM main.slice l WHERE l.id = :slice
UNION ALL
SELECT 1, b.key, b.value ->> 0, b.value ->> 2, b.value ->> 3, b.value ->> 1
FROM main.slice l, json_each(l.notes, :reduces) b WHERE l.id = :slice AND b.type = 'array'
UNION ALL
SELECT 2, t.key, t.value ->> 0, t.value ->> 1, t.value ->> 1, NULL
FROM main.slice l, json_each(l.notes, :tensors) t WHERE l.id = :slice AND t.type = 'array'
ORDER BY begin_ns, end_ns DESC, kind;

-- query: timeline_states
SELECT k.counter, k.unit, e.value ->> 0 AS before, e.value ->> 1 AS after
FROM main.slice l, json_each(l.notes) n, json_each(CASE WHEN n.type = 'object' AND n.key IN ('state', 'state:gpu') THEN n.value ELSE '{}' END) e
JOIN (SELECT 'state' AS note, 'frequency_hz' AS name, 'CPU clock' AS counter, 'Hz' AS unit
      UNION ALL SELECT 'state:gpu', 'sm_clock_hz', 'GPU clock', 'Hz'
      UNION ALL SELECT 'state:gpu', 'memory_clock_hz', 'GPU memory clock', 'Hz'
      UNION ALL SELECT 'state:gpu', 'power_w', 'GPU power', 'W'
      UNION ALL SELECT 'state:gpu', 'temperature_c', 'GPU temperature', 'C') k ON k.note = n.key AND k.name = e.key
WHERE l.id = :slice AND json_valid(l.notes) AND e.type = 'array' ORDER BY k.counter;

-- The samples of a metric and rank in blocks of 4096 ordinals, each from its first: what is sorted at a time is one block.
-- query: timeline_blocks
WITH RECURSIVE b(metric, rank, first) AS (
    SELECT m.name, e.rank, min((SELECT min(s.ordinal) FROM main.sample s WHERE s.series_id = e.id))
    FROM main.series e JOIN main.metric m ON m.id = e.metric_id WHERE e.slice_id = :slice AND m.unit = 'ns' GROUP BY m.name, e.rank
    UNION ALL
    SELECT b.metric, b.rank, (SELECT min((SELECT min(s.ordinal) FROM main.sample s WHERE s.series_id = e.id AND s.ordinal >= b.first + 4096))
                              FROM main.series e JOIN main.metric m ON m.id = e.metric_id
                              WHERE e.slice_id = :slice AND m.unit = 'ns' AND m.name = b.metric AND e.rank = b.rank)
    FROM b WHERE b.first IS NOT NULL
    ORDER BY 1, 2, 3)
SELECT metric, rank, first FROM b WHERE first IS NOT NULL;

-- query: timeline_samples
SELECT s.ordinal, max(e.phase) AS phase, sum(s.value) AS value
FROM main.series e JOIN main.metric m ON m.id = e.metric_id JOIN main.sample s ON s.series_id = e.id
WHERE e.slice_id = :slice AND m.unit = 'ns' AND m.name = :metric AND e.rank = :rank AND s.ordinal >= :first AND s.ordinal < :first + 4096
GROUP BY s.ordinal ORDER BY s.ordinal;
