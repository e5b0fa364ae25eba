-- Tables of batch-scaling: the report's summary, what it derives, what processes do once, the best batch size, the time of a micro-step, and all regions.
-- docs/batch-scaling.md has the formulas. A `setting` is everything but the batch size. All times of a case are medians.

-- view: batch_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.device, c.status, c.axes ->> 'batch' AS batch, coalesce(c.axes ->> 'ranks', 1) AS ranks,
       c.axes ->> 'sync' AS sync, c.axes ->> 'samples' AS samples, c.axes ->> 'global_batch' AS global_batch,
       printf('%s, %d x %d, seq %d, %s, global batch %d, %s, %s%s%s%s', c.variant, c.axes ->> 'layers', c.axes ->> 'd_model', c.axes ->> 'seq_len', c.axes ->> 'dtype',
              c.axes ->> 'global_batch', plural(c.axes ->> 'samples', 'sample'), plural(coalesce(c.axes ->> 'ranks', 1), 'rank'),
              CASE c.axes ->> 'batch_of' WHEN 'all' THEN ' together' ELSE '' END, CASE c.axes ->> 'sync' WHEN 'every' THEN ', sync every' ELSE '' END,
              CASE c.axes ->> 'transport' WHEN 'link' THEN printf(', link %g us %g GB/s', c.axes ->> 'link_latency_us', (c.axes ->> 'link_bytes_per_s') / 1e9)
                   WHEN 'self' THEN '' ELSE ', ' || (c.axes ->> 'transport') END)
       || CASE WHEN c.axes ->> 'tokens' <> 'seeded' THEN ', ' || substr(c.axes ->> 'tokens', 1, length(c.axes ->> 'tokens') - length('#1a2b3c4d')) ELSE '' END
       || CASE c.axes ->> 'drop_last' WHEN 1 THEN ', drop last' ELSE '' END || CASE WHEN c.axes ->> 'workers' > 1 THEN ', ' || plural(c.axes ->> 'workers', 'loader thread') ELSE '' END AS setting,
       m.*
FROM v_case c
JOIN (SELECT case_id AS of_case,
             max(median) FILTER (WHERE metric = 'total_ns') AS total_ns, max(ci_low) FILTER (WHERE metric = 'total_ns') AS total_low_ns,
             max(ci_high) FILTER (WHERE metric = 'total_ns') AS total_high_ns,
             max(median) FILTER (WHERE metric = 'epoch_ns') AS epoch_ns, max(ci_low) FILTER (WHERE metric = 'epoch_ns') AS epoch_low_ns,
             max(ci_high) FILTER (WHERE metric = 'epoch_ns') AS epoch_high_ns, max(uncertainty) FILTER (WHERE metric = 'epoch_ns') AS epoch_uncertainty,
             max(median) FILTER (WHERE metric = 'training_ns') AS training_ns, max(ci_low) FILTER (WHERE metric = 'training_ns') AS training_low_ns,
             max(ci_high) FILTER (WHERE metric = 'training_ns') AS training_high_ns,
             max(median) FILTER (WHERE metric = 'validation_ns') AS validation_ns,
             max(median) FILTER (WHERE metric = 'backward_ns') AS backward_ns,
             max(median) FILTER (WHERE metric = 'loss_ns') AS loss_ns,
             max(median) FILTER (WHERE metric = 'forward_ns') AS forward_ns,
             max(median) FILTER (WHERE metric = 'init_ns') AS init_ns,
             max(median) FILTER (WHERE metric = 'init_load_ns') AS init_load_ns,
             max(median) FILTER (WHERE metric = 'init_device_ns') AS init_device_ns,
             max(median) FILTER (WHERE metric = 'init_comm_ns') AS init_comm_ns,
             max(median) FILTER (WHERE metric = 'init_weights_ns') AS init_weights_ns,
             max(median) FILTER (WHERE metric = 'init_first_step_ns') AS init_first_step_ns,
             CAST(max(median) FILTER (WHERE metric = 'micro_steps') AS INTEGER) AS micro_steps,
             CAST(max(median) FILTER (WHERE metric = 'accum') AS INTEGER) AS accum,
             CAST(max(median) FILTER (WHERE metric = 'optimizer_steps') AS INTEGER) AS optimizer_steps,
             CAST(max(median) FILTER (WHERE metric = 'validation_steps') AS INTEGER) AS validation_steps,
             CAST(max(median) FILTER (WHERE metric = 'all_reduces') AS INTEGER) AS all_reduces,
             max(median) FILTER (WHERE metric = 'trained_tokens') AS trained_tokens,
             max(median) FILTER (WHERE metric = 'padding_tokens') AS padding_tokens,
             max(invocations) FILTER (WHERE metric = 'epoch_ns') AS processes
      FROM v_summary GROUP BY case_id) m ON m.of_case = c.case_id
WHERE c.status = 'ok';

-- view: batch_init_median
SELECT run_id, setting, avg(init_ns) AS median_ns
FROM (SELECT c.run_id, c.setting, v.figure AS init_ns, row_number() OVER (PARTITION BY c.run_id, c.setting ORDER BY v.figure) AS place, count(*) OVER (PARTITION BY c.run_id, c.setting) AS n
      FROM batch_case c JOIN v_invocation v ON v.case_id = c.case_id AND v.metric = 'init_ns')
WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY run_id, setting;

-- view: batch_init
-- One row per process and case, with its distance from the middle of all of its setting.
SELECT i.*, median_ns, sd_ns, abs(i.init_ns - median_ns) / nullif(sd_ns, 0) AS deviations,
       abs(i.init_ns - median_ns) > 5 * sd_ns AND abs(i.init_ns - median_ns) > 0.1 * median_ns AS outlier
FROM (SELECT c.run_id, c.setting, c.batch, c.case_id, v.invocation, v.figure AS init_ns FROM batch_case c JOIN v_invocation v ON v.case_id = c.case_id AND v.metric = 'init_ns') i
JOIN (SELECT run_id, setting, median_ns, 1.4826 * avg(apart_ns) AS sd_ns
      FROM (SELECT *, row_number() OVER (PARTITION BY run_id, setting ORDER BY apart_ns) AS place, count(*) OVER (PARTITION BY run_id, setting) AS n
            FROM (SELECT c.run_id, c.setting, d.median_ns, abs(v.figure - d.median_ns) AS apart_ns
                  FROM batch_case c JOIN v_invocation v ON v.case_id = c.case_id AND v.metric = 'init_ns'
                  JOIN batch_init_median d ON d.run_id = c.run_id AND d.setting = c.setting))
      WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY run_id, setting) USING (run_id, setting);

-- view: batch_rest
-- What a parent has besides its children, of every steady sample of rank 0: medians of their own do not add up.
SELECT run_id, case_id, parent, avg(device_ns) AS device_ns, avg(host_ns) AS host_ns
FROM (SELECT *, row_number() OVER (PARTITION BY case_id, parent ORDER BY device_ns) AS place, count(*) OVER (PARTITION BY case_id, parent) AS n
      FROM (SELECT s.run_id, s.case_id, s.invocation, s.ordinal, t.column1 AS parent,
                   sum(iif(s.metric = t.column2 || '_ns', t.column3 * s.value, 0)) AS device_ns, sum(iif(s.metric = t.column2 || '_host_ns', t.column3 * s.value, 0)) AS host_ns
            FROM v_sample s
            JOIN (VALUES ('total', 'total', 1), ('total', 'init', -1), ('total', 'epoch', -1), ('init', 'init', 1), ('init', 'init_load', -1), ('init', 'init_device', -1),
                         ('init', 'init_comm', -1), ('init', 'init_weights', -1), ('init', 'init_first_step', -1), ('epoch', 'epoch', 1), ('epoch', 'training', -1), ('epoch', 'validation', -1),
                         ('training', 'training', 1), ('training', 'data', -1), ('training', 'h2d', -1), ('training', 'forward', -1), ('training', 'loss', -1), ('training', 'backward', -1),
                         ('training', 'all_reduce', -1), ('training', 'optimizer', -1), ('training', 'wait', -1)) t ON s.metric IN (t.column2 || '_ns', t.column2 || '_host_ns')
            JOIN v_case c ON c.case_id = s.case_id AND c.experiment = 'batch-scaling'
            WHERE s.run_id = c.run_id AND s.phase = 'steady' AND s.pass = 'timing' AND coalesce(s.rank, 0) = 0
            GROUP BY s.case_id, s.invocation, s.ordinal, t.column1))
WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY run_id, case_id, parent;

-- view: batch_derived
SELECT c.*, d.median_ns AS typical_init_ns, epoch_ns + d.median_ns AS typical_total_ns, epoch_low_ns + d.median_ns AS typical_low_ns, epoch_high_ns + d.median_ns AS typical_high_ns,
       trained_tokens * 1e9 / training_ns AS tokens_per_s, trained_tokens * 1e9 / training_ns / ranks AS rank_tokens_per_s,
       trained_tokens / training_ns / first_value(trained_tokens / training_ns) OVER w AS speedup,
       iif(batch = first_value(batch) OVER w, NULL, trained_tokens / training_high_ns / first_value(trained_tokens / training_low_ns) OVER w) AS speedup_low,
       iif(batch = first_value(batch) OVER w, NULL, trained_tokens / training_low_ns / first_value(trained_tokens / training_high_ns) OVER w) AS speedup_high,
       trained_tokens / training_ns / first_value(trained_tokens / training_ns) OVER w / (batch * 1.0 / first_value(batch) OVER w) AS efficiency,
       r.device_ns AS training_rest_ns, training_ns / micro_steps AS micro_step_ns
FROM batch_case c LEFT JOIN batch_init_median d USING (run_id, setting) LEFT JOIN (SELECT run_id, case_id, device_ns FROM batch_rest WHERE parent = 'training') r USING (run_id, case_id)
WINDOW w AS (PARTITION BY run_id, setting ORDER BY batch);

-- Settings that differ in the variant alone share a table.
-- view: batch_title
SELECT run_id, setting, min(ordinal) AS ordinal, iif(n > 1, variant, NULL) AS variant, iif(n > 1, substr(setting, length(variant) + 3), setting) AS title
FROM batch_case JOIN (SELECT run_id, max(rank) AS n FROM (SELECT run_id, dense_rank() OVER (PARTITION BY run_id ORDER BY variant) AS rank FROM batch_case) GROUP BY run_id) USING (run_id)
GROUP BY run_id, setting;

-- table: summary
-- headline: 1
-- title: {each}
-- about: Batch size and accumulation
-- each: SELECT title FROM batch_title WHERE run_id = :run GROUP BY title ORDER BY min(ordinal)
-- column: variant | Variant | text | hide
-- column: batch | Batch size
-- column: accum | Accum. steps
-- column: micro_steps | Micro-steps
-- column: total_ns | Total ({unit}) | ms s | 2
-- column: worker_ns | Worker ({unit}) | ms s | 2 optional2
-- column: epoch_ns | Epoch ({unit}) | ms s | 2
-- column: epoch_uncertainty | ± % | ± | 1 optional3
-- column: training_ns | Training ({unit}) | ms s | 2
-- column: validation_ns | Validation ({unit}) | ms s | 2 optional4
-- column: backward_ns | Backward ({unit}) | ms s | 2 optional7
-- column: backward_mean_ns | Backward each (ms) | ms | 3 optional8
-- column: loss_ns | Loss ({unit}) | ms s | 2 optional5
-- column: loss_mean_ns | Loss each (ms) | ms | 3 optional7
-- column: forward_ns | Forward ({unit}) | ms s | 2 optional6
-- column: forward_mean_ns | Forward each (ms) | ms | 3 optional8
-- column: tokens_per_s | Tokens/s | | 0
-- column: rank_tokens_per_s | per rank | | 0 optional1
-- column: padding_tokens | Padding (tokens) | | 0 optional1
-- column: setting | Setting | text | machine
SELECT t.variant, batch, accum, micro_steps, total_ns, total_ns - init_load_ns AS worker_ns, epoch_ns, epoch_uncertainty, training_ns, validation_ns,
       backward_ns, backward_ns / micro_steps AS backward_mean_ns, loss_ns, loss_ns / micro_steps AS loss_mean_ns, forward_ns, forward_ns / micro_steps AS forward_mean_ns,
       tokens_per_s, rank_tokens_per_s, padding_tokens, setting
FROM batch_derived d JOIN batch_title t USING (run_id, setting) WHERE run_id = :run AND t.title = :each ORDER BY t.ordinal, d.ordinal;

-- table: derived
-- title: Scaling and initialisation: {each}
-- each: SELECT setting FROM batch_case WHERE run_id = :run GROUP BY setting ORDER BY min(ordinal)
-- column: batch | Batch size
-- column: micro_steps | Micro-steps
-- column: unaccounted | Unaccounted (%) | % | 1
-- column: init_ns | Init ({unit}) | ms s | 2
-- column: init_share | of total (%) | % | 1
-- column: typical_total_ns | Total, typical init ({unit}) | ms s | 2
-- column: speedup | Speed-up | x | 2
-- column: speedup_low | 95 % interval | x | 2 interval
-- column: efficiency | Efficiency (%) | % | 1
-- column: optimizer_steps | Optimizer steps | | optional2
-- column: all_reduces | All-reduces | | optional1
-- column: setting | Setting | text | machine
-- note: SELECT 'Unaccounted: of training, without its parts. Typical init: the median of all processes of the setting. Speed-up: tokens per second over those of the '
--   || 'smallest batch size. Efficiency: that, over the ratio of the batch sizes.' FROM batch_case WHERE run_id = :run LIMIT 1
SELECT batch, micro_steps, training_rest_ns / training_ns AS unaccounted, init_ns, init_ns / total_ns AS init_share, typical_total_ns, speedup, speedup_low, speedup_high, efficiency, optimizer_steps, all_reduces, setting
FROM batch_derived WHERE run_id = :run AND setting = :each ORDER BY ordinal;

-- table: init
-- title: What a process does once
-- column: setting | Setting | text | clip
-- column: batch | Batch size
-- column: processes | Processes
-- column: load_ns | Load (ms) | ms | 1
-- column: device_ns | Device (ms) | ms | 1
-- column: comm_ns | Comm (ms) | ms | 1
-- column: weights_ns | Weights (ms) | ms | 1
-- column: first_step_ns | First step (ms) | ms | 1
-- column: init_ns | Init (ms) | ms | 1
-- column: unaccounted_ns | Unaccounted (ms) | ms | 1 optional2
-- column: deviations | Farthest (robust SD) | | 1
-- column: verdict | In words | text
-- note: SELECT printf('Outlier: batch size %d, process %d: %.2f s, %.1f robust SD from the median %.2f s of %s (%s).', batch, invocation, init_ns / 1e9, deviations, median_ns / 1e9,
--   (SELECT plural(count(*), 'process') FROM batch_init o WHERE o.run_id = i.run_id AND o.setting = i.setting), setting)
--   FROM batch_init i WHERE run_id = :run AND outlier ORDER BY deviations DESC LIMIT 20
-- note: SELECT 'An outlier is more than 5 robust standard deviations (1.4826 times the median distance from the median) and more than 10 % from the median of its setting. Load has steps of 10 ms.'
--   FROM batch_case WHERE run_id = :run LIMIT 1
SELECT c.setting, c.batch, c.processes, init_load_ns AS load_ns, init_device_ns AS device_ns, init_comm_ns AS comm_ns, init_weights_ns AS weights_ns, init_first_step_ns AS first_step_ns, c.init_ns,
       (SELECT device_ns FROM batch_rest r WHERE r.case_id = c.case_id AND r.parent = 'init') AS unaccounted_ns,
       max(i.deviations) AS deviations, CASE WHEN max(i.outlier) THEN 'outlier' END AS verdict
FROM batch_case c JOIN batch_init i USING (run_id, case_id) WHERE c.run_id = :run GROUP BY c.case_id ORDER BY c.ordinal;

-- view: batch_rule
SELECT run_id, setting, ordinal, batch, 1 AS place, 'epoch' AS rule, epoch_ns AS by_ns, epoch_low_ns AS low_ns, epoch_high_ns AS high_ns FROM batch_derived
UNION ALL SELECT run_id, setting, ordinal, batch, 2, 'total', total_ns, total_low_ns, total_high_ns FROM batch_derived
UNION ALL SELECT run_id, setting, ordinal, batch, 3, 'total with typical init', typical_total_ns, typical_low_ns, typical_high_ns FROM batch_derived;

-- view: batch_place
SELECT *, row_number() OVER (PARTITION BY run_id, setting, rule ORDER BY by_ns, batch) AS rank, first_value(high_ns) OVER (PARTITION BY run_id, setting, rule ORDER BY by_ns, batch) AS best_high_ns
FROM batch_rule WHERE by_ns IS NOT NULL;

-- table: optimum
-- title: Best batch size
-- column: setting | Setting | text | clip
-- column: rule | Least time by | text
-- column: batch | Batch size
-- column: by_ns | Time ({unit}) | ms s | 2
-- column: low_ns | 95 % interval ({unit}) | ms s | 2 interval
-- column: high_ns | to ({unit}) | ms s | 2
-- column: tied | Tied with | text
-- note: SELECT 'Tied: other batch sizes whose interval overlaps that of the best. The total is that of one epoch and one start; the choice for many epochs is that by epoch.'
--   FROM batch_case WHERE run_id = :run LIMIT 1
-- note: SELECT 'No interval (fewer than three processes): ties cannot be determined.' FROM batch_place WHERE run_id = :run AND rank = 1 AND low_ns IS NULL LIMIT 1
-- note: SELECT printf('%s: by total %d is best, with typical init %d: initialisation decides, not the batch size.', t.setting, t.batch, m.batch)
--   FROM batch_place t JOIN batch_place m USING (run_id, setting) WHERE t.run_id = :run AND t.rank = 1 AND m.rank = 1 AND t.rule = 'total'
--   AND m.rule = 'total with typical init' AND t.batch <> m.batch
--   AND NOT EXISTS (SELECT * FROM batch_place o WHERE o.run_id = t.run_id AND o.setting = t.setting
--                   AND (o.rule = 'total' AND o.batch = m.batch AND o.low_ns <= t.high_ns OR o.rule = m.rule AND o.batch = t.batch AND o.low_ns <= m.high_ns))
SELECT setting, rule, batch, by_ns, low_ns, high_ns,
       (SELECT group_concat(o.batch, ', ') FROM (SELECT batch FROM batch_place o WHERE o.run_id = p.run_id AND o.setting = p.setting AND o.rule = p.rule AND o.rank > 1
               AND o.low_ns <= p.best_high_ns ORDER BY o.batch) o) AS tied
FROM batch_place p WHERE run_id = :run AND rank = 1 ORDER BY min(ordinal) OVER (PARTITION BY setting), place;

-- view: batch_point
SELECT run_id, setting, case_id, ordinal, micro_steps, batch * 1.0 AS x, micro_step_ns AS y, row_number() OVER (PARTITION BY run_id, setting ORDER BY batch) AS place
FROM batch_derived WHERE micro_step_ns IS NOT NULL;

-- view: batch_split
-- Every way to take the k smallest batch sizes for the launch floor and a line through the others; k = 0: a line alone.
SELECT p.run_id, p.setting, k.k, avg(iif(p.place <= k.k, p.y, NULL)) AS floor_ns, count(iif(p.place > k.k, 1, NULL)) AS n,
       avg(iif(p.place > k.k, p.x, NULL)) AS mx, avg(iif(p.place > k.k, p.y, NULL)) AS my,
       avg(iif(p.place > k.k, p.x * p.x, NULL)) AS mxx, avg(iif(p.place > k.k, p.x * p.y, NULL)) AS mxy
FROM batch_point p JOIN (SELECT run_id, setting, place - 1 AS k FROM batch_point) k USING (run_id, setting)
GROUP BY p.run_id, p.setting, k.k HAVING n >= 3;

-- view: batch_line
SELECT *, my - b * mx AS a FROM (SELECT *, (mxy - mx * my) / (mxx - mx * mx) AS b FROM batch_split);

-- view: batch_fit
SELECT l.run_id, l.setting, l.k, l.floor_ns, l.a, l.b, count(*) AS points, min(p.ordinal) AS ordinal, min(p.x) AS least,
       1 - sum((p.y - max(coalesce(l.floor_ns, l.a + l.b * p.x), l.a + l.b * p.x)) * (p.y - max(coalesce(l.floor_ns, l.a + l.b * p.x), l.a + l.b * p.x)))
         / nullif(sum(p.y * p.y) - sum(p.y) * sum(p.y) / count(*), 0) AS r2
FROM batch_line l JOIN batch_point p USING (run_id, setting) GROUP BY l.run_id, l.setting, l.k;

-- view: batch_chosen
-- The best line and the best hinge of a setting.
SELECT *, CASE WHEN k = 0 OR a / b >= knee THEN a / b ELSE floor_ns / (2 * b) END AS half
FROM (SELECT *, (floor_ns - a) / b AS knee, row_number() OVER (PARTITION BY run_id, setting, k = 0 ORDER BY r2 DESC) AS best
      FROM batch_fit WHERE b > 0 AND (k = 0 OR (floor_ns - a) / b > least))
WHERE best = 1;

-- view: batch_process
-- The same fit through the first process of every batch size, the second, ...: the same sizes are on the floor.
SELECT run_id, setting, k, b, (floor_ns - a) / b AS knee, CASE WHEN k = 0 OR a / b >= (floor_ns - a) / b THEN a / b ELSE floor_ns / (2 * b) END AS half
FROM (SELECT *, my - b * mx AS a
      FROM (SELECT *, (mxy - mx * my) / (mxx - mx * mx) AS b
            FROM (SELECT f.run_id, f.setting, f.k, avg(iif(p.place <= f.k, v.figure / p.micro_steps, NULL)) AS floor_ns,
                         avg(iif(p.place > f.k, p.x, NULL)) AS mx, avg(iif(p.place > f.k, v.figure / p.micro_steps, NULL)) AS my,
                         avg(iif(p.place > f.k, p.x * p.x, NULL)) AS mxx, avg(iif(p.place > f.k, p.x * v.figure / p.micro_steps, NULL)) AS mxy
                  FROM batch_chosen f JOIN batch_point p USING (run_id, setting) JOIN v_invocation v ON v.case_id = p.case_id AND v.metric = 'training_ns'
                  GROUP BY f.run_id, f.setting, f.k, v.invocation HAVING count(*) = max(f.points))));

-- view: batch_margin
SELECT run_id, setting, k, margin_of_mean(count(*), avg(knee), avg(knee * knee)) AS knee, margin_of_mean(count(*), avg(half), avg(half * half)) AS half
FROM batch_process GROUP BY run_id, setting, k HAVING min(b) > 0;

-- table: step
-- title: Time of a micro-step: the larger of a launch floor and a + b * batch
-- column: setting | Setting | text | clip
-- column: shape | Fit | text
-- column: floor_ns | Floor (ms) | ms | 3
-- column: a_ns | a (ms) | ms | 3
-- column: b_ns | b (ms) | ms | 4
-- column: knee | Knee (batch size) | | 1
-- column: knee_low | 95 % interval | | 1 interval
-- column: half | Half-saturation | | 1
-- column: half_low | 95 % interval | | 1 interval
-- column: r2 | R² | | 4
-- column: points | Points
-- note: SELECT 'Half-saturation: the batch size with half of the throughput that large ones approach (a / b, or floor / 2b below the knee). Hinge: of all hinges with three points '
--   || 'or more on the line and a knee above the smallest batch size, the one with the least squares.' FROM batch_fit WHERE run_id = :run LIMIT 1
-- note: SELECT 'The intervals follow from the same fit through each process alone. They do not include the error where the curve is neither a line nor a hinge.'
--   FROM batch_margin WHERE run_id = :run AND half IS NOT NULL LIMIT 1
-- note: SELECT 'No interval: it needs three or more processes of every batch size (--invocations 3).' FROM batch_chosen c LEFT JOIN batch_margin m USING (run_id, setting, k)
--   WHERE run_id = :run AND m.half IS NULL LIMIT 1
SELECT setting, iif(k = 0, 'line', 'hinge') AS shape, floor_ns, a AS a_ns, b AS b_ns, c.knee, max(0.0, c.knee - m.knee) AS knee_low, c.knee + m.knee AS knee_high,
       c.half, max(0.0, c.half - m.half) AS half_low, c.half + m.half AS half_high, r2, points
FROM batch_chosen c LEFT JOIN batch_margin m USING (run_id, setting, k) WHERE run_id = :run ORDER BY min(ordinal) OVER (PARTITION BY setting), k;

-- table: variants
-- title: A micro-step of each variant
-- column: batch | Batch size
-- column: variant | Variant | text
-- column: micro_step_ns | Micro-step (ms) | ms | 3
-- column: tokens_per_s | Tokens/s | | 0
-- column: speedup | vs slowest | x | 2
-- column: speedup_low | 95 % interval | x | 2 interval
-- column: family | Setting | text | machine
SELECT batch, variant, micro_step_ns, tokens_per_s, first_value(micro_step_ns) OVER w / micro_step_ns AS speedup,
       iif(row_number() OVER w = 1, NULL, first_value(training_low_ns / micro_steps) OVER w / training_high_ns * micro_steps) AS speedup_low,
       iif(row_number() OVER w = 1, NULL, first_value(training_high_ns / micro_steps) OVER w / training_low_ns * micro_steps) AS speedup_high, family
FROM (SELECT *, substr(setting, length(variant) + 3) AS family FROM batch_derived WHERE run_id = :run)
WINDOW w AS (PARTITION BY family, batch ORDER BY micro_step_ns DESC, ordinal)
ORDER BY min(ordinal) OVER (PARTITION BY family, batch), ordinal;

-- view: batch_region
-- Every region with its parent; counts are those of an epoch, on one rank.
SELECT c.run_id, c.case_id, c.setting, c.batch, c.ordinal, r.column1 AS place, r.column2 AS level, r.column3 AS region, r.column4 AS parent,
       CASE r.column5 WHEN 'micro' THEN c.micro_steps WHEN 'optimizer' THEN c.optimizer_steps WHEN 'sync' THEN iif(c.sync = 'every', c.micro_steps, c.optimizer_steps) ELSE 1 END AS count,
       d.median AS device_ns, coalesce(h.median, d.median) AS host_ns
FROM batch_case c
JOIN (VALUES (1, 0, 'total', NULL, 'one'), (2, 1, 'init', 'total', 'one'), (3, 2, 'init_load', 'init', 'one'), (4, 2, 'init_device', 'init', 'one'), (5, 2, 'init_comm', 'init', 'one'),
             (6, 2, 'init_weights', 'init', 'one'), (7, 2, 'init_first_step', 'init', 'one'), (9, 1, 'epoch', 'total', 'one'), (10, 2, 'training', 'epoch', 'one'),
             (11, 3, 'data', 'training', 'micro'), (12, 3, 'h2d', 'training', 'micro'), (13, 3, 'forward', 'training', 'micro'), (14, 3, 'loss', 'training', 'micro'),
             (15, 3, 'backward', 'training', 'micro'), (16, 3, 'all_reduce', 'training', 'sync'), (17, 3, 'optimizer', 'training', 'optimizer'), (18, 3, 'wait', 'training', 'one'),
             (20, 2, 'validation', 'epoch', 'one')) r
JOIN v_summary d ON d.case_id = c.case_id AND d.metric = r.column3 || '_ns'
LEFT JOIN v_summary h ON h.case_id = c.case_id AND h.metric = r.column3 || '_host_ns';

-- view: batch_unaccounted
SELECT p.run_id, p.case_id, p.setting, p.batch, p.ordinal, CASE p.region WHEN 'init' THEN 8 WHEN 'training' THEN 19 WHEN 'epoch' THEN 21 ELSE 22 END AS place, p.level + 1 AS level,
       'unaccounted' AS region, p.region AS parent, NULL AS count, r.device_ns, iif(p.region IN ('total', 'init'), r.device_ns, r.host_ns) AS host_ns
FROM batch_region p JOIN batch_rest r ON r.case_id = p.case_id AND r.parent = p.region;

-- table: regions
-- title: Regions: {each}
-- each: SELECT setting FROM batch_case WHERE run_id = :run GROUP BY setting ORDER BY min(ordinal)
-- column: batch | Batch size
-- column: region | Region | text
-- column: count | Count
-- column: device_ns | Device ({unit}) | ms s | 3
-- column: mean_ns | each (ms) | ms | 4
-- column: host_ns | Host ({unit}) | ms s | 3
-- column: share | of parent (%) | % | 1
-- column: parent | Parent | text | machine
-- column: level | Level | | machine
-- column: setting | Setting | text | machine
-- note: SELECT 'Device: on the compute lane. Host: between begin and end on the host, which waits for the device in h2d, wait and validation, or where it must. Counts are of one rank and one epoch.'
--   FROM batch_case WHERE run_id = :run LIMIT 1
SELECT r.batch, substr('      ', 1, 2 * r.level) || r.region AS region, r.count, r.device_ns, r.device_ns / r.count AS mean_ns, r.host_ns, r.device_ns / p.device_ns AS share, r.parent, r.level, r.setting
FROM (SELECT * FROM batch_region UNION ALL SELECT * FROM batch_unaccounted) r LEFT JOIN batch_region p ON p.case_id = r.case_id AND p.region = r.parent
WHERE r.run_id = :run AND r.setting = :each ORDER BY r.ordinal, r.place;

-- Charts; of several settings each names what differs.

-- view: batch_named
SELECT run_id, setting, differing(setting, group_concat(setting, char(10)) OVER (PARTITION BY run_id)) AS which FROM (SELECT DISTINCT run_id, setting FROM batch_case);

-- chart: throughput
-- title: Thousand tokens per second over the batch size, with the fitted line or hinge
-- mark: line
-- x: batch log2
-- y: ktokens_per_s
-- interval: low_per_s high_per_s
-- color: variant
-- facet: setting
-- fit: fitted_per_s
-- rule: choice
-- column: batch | Batch size
-- column: ktokens_per_s | K tokens/s | | 2
-- column: low_per_s | From | | 2
-- column: high_per_s | To | | 2
-- column: fitted_per_s | Fitted | | 2
-- column: variant | Variant | text
-- column: setting | Setting | text
-- column: choice | Best | text
-- note: SELECT 'Dashed: a micro-step takes the larger of a launch floor and a + b * batch (or only the latter), whichever fits better; table step has the figures.'
--   FROM batch_chosen WHERE run_id = :run LIMIT 1
SELECT d.batch, d.ktokens_per_s, d.low_per_s, d.high_per_s, d.fitted_per_s, d.variant, coalesce(nullif(trim(w.which, ' ()'), ''), d.setting) AS setting, d.choice
FROM (SELECT c.setting, c.ordinal, c.batch, c.tokens_per_s / 1e3 AS ktokens_per_s, c.trained_tokens * 1e6 / c.training_high_ns AS low_per_s, c.trained_tokens * 1e6 / c.training_low_ns AS high_per_s,
             c.trained_tokens * 1e6 / c.micro_steps / max(coalesce(f.floor_ns, 0), f.a + f.b * c.batch) AS fitted_per_s, c.variant, NULL AS choice
      FROM batch_derived c LEFT JOIN (SELECT *, row_number() OVER (PARTITION BY run_id, setting ORDER BY r2 DESC) AS place FROM batch_chosen) f
           ON f.run_id = c.run_id AND f.setting = c.setting AND f.place = 1
      WHERE c.run_id = :run AND c.tokens_per_s IS NOT NULL
      UNION ALL SELECT setting, NULL, batch, NULL, NULL, NULL, NULL, NULL, 'least by ' || group_concat(rule, ', ')
      FROM (SELECT * FROM batch_place WHERE run_id = :run AND rank = 1 AND place < 3 ORDER BY place) GROUP BY setting, batch) d
JOIN batch_named w ON w.run_id = :run AND w.setting = d.setting
ORDER BY d.choice IS NOT NULL, min(d.ordinal) OVER (PARTITION BY d.setting), d.batch;

-- chart: timers
-- title: What the time of one epoch and one start consists of
-- mark: stack
-- x: batch
-- y: time_ns
-- color: part
-- facet: setting
-- column: batch | Batch size
-- column: time_ns | Time (s) | s | 4
-- column: part | Part | text
-- column: setting | Setting | text
-- note: SELECT 'On the compute lane of a device. Others: waiting, and what no timer accounts for.' FROM batch_case WHERE run_id = :run LIMIT 1
SELECT r.batch, sum(r.device_ns) AS time_ns, CASE WHEN r.region IN ('data', 'h2d') THEN 'data' WHEN r.region IN ('all_reduce', 'optimizer') THEN 'all-reduce, optimizer'
       WHEN r.region IN ('wait', 'unaccounted') THEN 'others' ELSE r.region END AS part, coalesce(nullif(trim(w.which, ' ()'), ''), r.setting) AS setting
FROM (SELECT run_id, setting, ordinal, batch, region, device_ns, place FROM batch_region
      WHERE region IN ('init', 'data', 'h2d', 'forward', 'loss', 'backward', 'all_reduce', 'optimizer', 'wait', 'validation')
      UNION ALL SELECT run_id, setting, ordinal, batch, region, max(device_ns, 0), place FROM batch_unaccounted WHERE parent <> 'init') r
JOIN batch_named w USING (run_id, setting) WHERE r.run_id = :run
GROUP BY r.ordinal, 3 ORDER BY min(r.ordinal) OVER (PARTITION BY r.setting), r.ordinal, min(r.place);

-- chart: micro_step
-- title: Parts of a micro-step over the batch size
-- mark: line
-- x: batch log2
-- y: each_ns log
-- color: part
-- facet: setting
-- column: batch | Batch size
-- column: each_ns | Time (ms) | ms | 4
-- column: part | Part | text
-- column: setting | Setting | text
SELECT r.batch, r.device_ns / r.count AS each_ns, r.region AS part, coalesce(nullif(trim(w.which, ' ()'), ''), r.setting) AS setting
FROM batch_region r JOIN batch_named w USING (run_id, setting)
WHERE r.run_id = :run AND r.region IN ('forward', 'loss', 'backward') AND r.device_ns > 0 AND r.count > 0
ORDER BY min(r.ordinal) OVER (PARTITION BY r.setting), r.place, r.ordinal;

-- Findings, in order of worth; a run of several settings names them.

-- finding: best
SELECT printf('Least time of an epoch: batch size %d, %s', p.batch, time_text(p.by_ns)) || iif(p.low_ns IS NULL, ' (no interval)', printf(' (%s to %s)', time_text(p.low_ns), time_text(p.high_ns)))
       || coalesce(', not told apart from ' || nullif((SELECT group_concat(o.batch, ', ') FROM (SELECT batch FROM batch_place o WHERE o.run_id = p.run_id AND o.setting = p.setting
            AND o.rule = 'epoch' AND o.rank > 1 AND o.low_ns <= p.best_high_ns ORDER BY batch) o), ''), '') || which || '.' AS sentence
FROM batch_place p JOIN batch_named USING (run_id, setting) WHERE p.run_id = :run AND p.rule = 'epoch' AND p.rank = 1 ORDER BY p.ordinal LIMIT 2;

-- finding: speedup
SELECT CASE WHEN speedup_low > 1 THEN printf('Batch size %d trains %s as many tokens per second as %d, an efficiency of %.0f %%', batch,
                                             ratio_text(speedup, speedup_low, speedup_high), least, 100 * efficiency)
            ELSE printf('The tokens per second of batch size %d are not told apart from those of %d: %.2f x (%.2f to %.2f)', batch, least, speedup, speedup_low, speedup_high) END
       || which || '.' AS sentence
FROM (SELECT *, min(batch) OVER (PARTITION BY run_id, setting) AS least, row_number() OVER (PARTITION BY run_id, setting ORDER BY batch DESC) AS place FROM batch_derived)
JOIN batch_named USING (run_id, setting) WHERE run_id = :run AND place = 1 AND speedup_high >= 1 AND speedup_low > 0 ORDER BY ordinal LIMIT 2;

-- finding: start
SELECT printf('By the total time, which has one start, batch size %d is best; by the time of an epoch, batch size %d', t.batch, e.batch) || which || '.' AS sentence
FROM batch_place t JOIN batch_place e USING (run_id, setting) JOIN batch_place o USING (run_id, setting) JOIN batch_named USING (run_id, setting)
WHERE run_id = :run AND t.rank = 1 AND e.rank = 1 AND t.rule = 'total' AND e.rule = 'epoch' AND o.rule = 'total' AND o.batch = e.batch AND o.low_ns > o.best_high_ns
ORDER BY t.ordinal LIMIT 1;

-- finding: outlier
SELECT printf('%s started outside the usual spread; the farthest, process %d of batch size %d, took %s (median %s)', plural(n, 'process'), invocation, batch,
              time_text(init_ns), time_text(median_ns)) || which || '.' AS sentence
FROM (SELECT *, count(*) OVER () AS n FROM batch_init WHERE run_id = :run AND outlier) JOIN batch_named USING (run_id, setting) ORDER BY deviations DESC LIMIT 1;
