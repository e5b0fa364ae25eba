-- Tables of ddp-bucket: the report's (methods, named ranges), bucket sizes, what an all-reduce costs, which size a model would choose, and when the
-- buckets of the best were ready and sent.
-- docs/tables.md explains the directives, docs/ddp-bucket.md the model. A `setting` is everything but the way of averaging.

-- view: ddp_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.axes, c.status, c.message,
       json_remove(c.axes, '$.bucket_bytes', '$.first_bucket_bytes') AS apart_from_size,
       CASE WHEN c.axes ->> 'tensors' <> 'model' THEN substr(c.axes ->> 'tensors', 1, length(c.axes ->> 'tensors') - length('#1a2b3c4d'))
            ELSE c.axes ->> 'model' END || CASE c.axes ->> 'work' WHEN 'transformer' THEN printf(', transformer %d x %d', c.axes ->> 'batch', c.axes ->> 'seq_len')
            ELSE printf(', compute %g ms', c.axes ->> 'compute_ms') END || printf(', %s, %s, %s',
            plural(coalesce(c.axes ->> 'ranks', 1), 'rank'), c.axes ->> 'dtype',
            CASE WHEN coalesce(c.axes ->> 'transport', 'link') = 'link'
                 THEN printf('link %g us %g GB/s', c.axes ->> 'link_latency_us', (c.axes ->> 'link_bytes_per_s') / 1e9)
                      || CASE c.axes ->> 'link_jitter' WHEN 0 THEN '' ELSE printf(' jitter %g', c.axes ->> 'link_jitter') END
                 ELSE c.axes ->> 'transport' END) AS setting,
       coalesce(c.axes ->> 'ranks', 1) AS ranks, c.axes ->> 'bucket_bytes' AS bucket_bytes, nullif(c.axes ->> 'first_bucket_bytes', 0) AS first_bucket_bytes,
       c.axes ->> 'gradients' || iif(coalesce(c.axes ->> 'split', 0), ', split', '') AS gradients, m.*,
       m.forward_ns + m.backward_ns AS compute_ns, m.forward_low_ns + m.backward_low_ns AS compute_low_ns, m.forward_high_ns + m.backward_high_ns AS compute_high_ns
FROM v_case c
LEFT JOIN (SELECT case_id AS of_case,
                  max(median) FILTER (WHERE metric = 'step_ns') AS step_ns,
                  max(uncertainty) FILTER (WHERE metric = 'step_ns') AS step_uncertainty,
                  max(ci_low) FILTER (WHERE metric = 'step_ns') AS step_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'step_ns') AS step_high_ns,
                  max(median) FILTER (WHERE metric = 'forward_ns') AS forward_ns,
                  max(ci_low) FILTER (WHERE metric = 'forward_ns') AS forward_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'forward_ns') AS forward_high_ns,
                  max(median) FILTER (WHERE metric = 'backward_ns') AS backward_ns,
                  max(ci_low) FILTER (WHERE metric = 'backward_ns') AS backward_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'backward_ns') AS backward_high_ns,
                  max(median) FILTER (WHERE metric = 'copy_back_ns') AS copy_back_ns,
                  max(median) FILTER (WHERE metric = 'comm_ns') AS comm_ns,
                  max(ci_low) FILTER (WHERE metric = 'comm_ns') AS comm_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'comm_ns') AS comm_high_ns,
                  max(median) FILTER (WHERE metric = 'exposed_ns') AS exposed_ns,
                  max(median) FILTER (WHERE metric = 'peak_bytes') AS peak_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'all_reduces') AS INTEGER) AS all_reduces,
                  CAST(max(median) FILTER (WHERE metric = 'gradient_bytes') AS INTEGER) AS gradient_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'tensors') AS INTEGER) AS tensors,
                  CAST(max(median) FILTER (WHERE metric = 'buckets') AS INTEGER) AS buckets,
                  CAST(max(median) FILTER (WHERE metric = 'least_bucket_bytes') AS INTEGER) AS least_bucket_bytes,
                  max(median) FILTER (WHERE metric = 'mean_bucket_bytes') AS mean_bucket_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'most_bucket_bytes') AS INTEGER) AS most_bucket_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'oversize') AS INTEGER) AS oversize
           FROM v_summary GROUP BY case_id) m ON m.of_case = c.case_id
WHERE c.status <> 'skipped';

-- view: ddp_naive
SELECT run_id, setting, step_ns AS naive_step_ns, step_low_ns AS naive_step_low_ns, step_high_ns AS naive_step_high_ns,
       comm_ns AS naive_comm_ns, comm_low_ns AS naive_comm_low_ns, comm_high_ns AS naive_comm_high_ns
FROM ddp_case WHERE variant = 'naive';

-- view: ddp_speedup
-- No interval of naive against itself.
SELECT c.*, naive_step_ns / step_ns AS total_speedup, naive_comm_ns / nullif(comm_ns, 0) AS comm_speedup,
       iif(variant = 'naive', NULL, naive_step_low_ns / step_high_ns) AS total_speedup_low,
       iif(variant = 'naive', NULL, naive_step_high_ns / step_low_ns) AS total_speedup_high,
       iif(variant = 'naive', NULL, naive_comm_low_ns / nullif(comm_high_ns, 0)) AS comm_speedup_low,
       iif(variant = 'naive', NULL, naive_comm_high_ns / nullif(comm_low_ns, 0)) AS comm_speedup_high
FROM ddp_case c LEFT JOIN ddp_naive USING (run_id, setting);

-- table: methods
-- headline: 1
-- title: Methods: {each}
-- each: SELECT setting FROM ddp_case WHERE run_id = :run GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Method | text
-- column: bucket_bytes | Bucket (MB) | MB | 3 hide
-- column: first_bucket_bytes | First (MB) | MB | 3 hide
-- column: gradients | Gradients | text | hide
-- column: total_ns | Total (ms) | ms | 3
-- column: total_uncertainty | ± % | ± | 1 optional5
-- column: comm_ns | Comm (ms) | ms | 3 optional3
-- column: compute_ns | Compute (ms) | ms | 3 optional4
-- column: exposed_ns | Exposed (ms) | ms | 3 optional7
-- column: overhead | Overhead (%) | % | 1 optional6
-- column: overhead_low | 95 % interval | % | 1 optional6 interval
-- column: total_speedup | Total vs naive | x | 2
-- column: total_speedup_low | 95 % interval | x | 2 interval
-- column: verdict | In words | state
-- column: comm_speedup | Comm vs naive | x | 2 optional2
-- column: comm_speedup_low | 95 % interval | x | 2 optional2 interval
-- column: peak_bytes | Peak Mem (GB) | GB | 3 optional1
-- column: status | Status | state
-- column: setting | Setting | text | machine
-- note: SELECT 'Not measured: ' || variant || CASE WHEN bucket_bytes > 0 THEN printf(' %g MB', bucket_bytes / 1e6) ELSE '' END || ': ' || message FROM ddp_case
--   WHERE run_id = :run AND setting = :each AND status <> 'ok' AND message <> '' GROUP BY message ORDER BY min(ordinal)
-- note: SELECT note FROM v_interval_note WHERE run_id = :run AND experiment = 'ddp-bucket'
-- note: SELECT speedup_note('naive', count(total_speedup_low) < count(total_speedup), 'variant') FROM ddp_speedup
--   WHERE run_id = :run AND setting = :each AND variant <> 'naive' AND total_speedup IS NOT NULL HAVING count(*) > 0
-- note: SELECT 'Overhead: share of the step that is not compute. Comm: sum of all all-reduces, hidden or exposed.'
-- note: SELECT 'A negative Overhead is noise: Total is the median of steps, Compute the sum of the medians of forward and backward, and their difference is smaller than their spread.'
--   FROM ddp_case WHERE run_id = :run AND setting = :each AND compute_ns > step_ns LIMIT 1
SELECT variant, bucket_bytes, first_bucket_bytes, gradients, step_ns AS total_ns, step_uncertainty AS total_uncertainty, comm_ns, compute_ns,
       exposed_ns, 1 - compute_ns / step_ns AS overhead, 1 - compute_high_ns / step_low_ns AS overhead_low, 1 - compute_low_ns / step_high_ns AS overhead_high, total_speedup, total_speedup_low, total_speedup_high,
       in_words(total_speedup_low, total_speedup_high) AS verdict, comm_speedup, comm_speedup_low, comm_speedup_high, peak_bytes, CASE status WHEN 'ok' THEN 'OK' WHEN 'oom' THEN 'OOM' ELSE status END AS status, setting
FROM ddp_speedup
WHERE run_id = :run AND setting = :each
ORDER BY min(ordinal) OVER (PARTITION BY variant), ordinal;

-- table: ranges
-- title: Named ranges: {each}
-- each: SELECT setting FROM ddp_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Method | text
-- column: bucket_bytes | Bucket (MB) | MB | 3 hide
-- column: first_bucket_bytes | First (MB) | MB | 3 hide
-- column: gradients | Gradients | text | hide
-- column: instances | Instances
-- column: mean_ns | Avg (ms) | ms | 3
-- column: median_ns | Med (ms) | ms | 3
-- column: min_ns | Min (ms) | ms | 3
-- column: max_ns | Max (ms) | ms | 3
-- column: sd_ns | StdDev (ms) | ms | 3
-- column: range | Range | text
-- column: setting | Setting | text | machine
SELECT c.variant, c.bucket_bytes, c.first_bucket_bytes, c.gradients, s.n AS instances, s.mean AS mean_ns, s.median AS median_ns, s.min AS min_ns, s.max AS max_ns, s.sd AS sd_ns,
       CASE s.metric WHEN 'backward_ns' THEN CASE WHEN c.variant = 'overlap' THEN 'Backward Pass (with async comm)'
                                    WHEN c.variant IN ('bucket', 'torch-ddp') THEN 'Backward Pass (buckets overlap)'
                                    WHEN c.variant IN ('none', 'naive', 'coalesced', 'flat', 'torch-ddp-flat', 'torch-ddp-naive') THEN 'Backward Pass (compute only)'
                                    ELSE 'Backward Pass' END
            WHEN 'all_reduce_ns' THEN CASE c.variant WHEN 'naive' THEN 'All-Reduce Gradients (sequential)' WHEN 'coalesced' THEN 'All-Reduce Gradients (one call)'
                                      ELSE 'All-Reduce Gradients (flat)' END
            WHEN 'wait_ns' THEN printf('Wait for All %s (%s)', CASE c.variant WHEN 'bucket' THEN 'Buckets' ELSE 'Gradients' END,
                                   plural(c.all_reduces, 'handle'))
            WHEN 'flatten_ns' THEN 'Flatten'
            ELSE 'Unflatten & Copy Back' END AS range, c.setting
FROM ddp_case c JOIN v_summary s ON s.case_id = c.case_id
WHERE c.run_id = :run AND c.setting = :each AND c.status = 'ok'
  AND s.metric IN ('backward_ns', 'flatten_ns', 'all_reduce_ns', 'wait_ns', 'copy_back_ns')
ORDER BY min(c.ordinal) OVER (PARTITION BY c.variant), c.ordinal, CASE s.metric WHEN 'backward_ns' THEN 1 WHEN 'flatten_ns' THEN 2 WHEN 'copy_back_ns' THEN 4 ELSE 3 END;

-- table: buckets
-- title: Buckets: {each}
-- each: SELECT setting FROM ddp_case WHERE run_id = :run AND variant = 'bucket' AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: bucket_bytes | Cap (MB) | MB | 3
-- column: first_bucket_bytes | First (MB) | MB | 3 hide
-- column: gradients | Gradients | text | hide
-- column: buckets | Buckets
-- column: oversize | Oversize
-- column: least_bucket_bytes | Min (MB) | MB | 3
-- column: mean_bucket_bytes | Mean (MB) | MB | 3
-- column: most_bucket_bytes | Max (MB) | MB | 3
-- column: comm_ns | Comm (ms) | ms | 3
-- column: exposed_ns | Exposed (ms) | ms | 3
-- column: predicted_exposed_ns | Predicted (ms) | ms | 3
-- column: hidden | Hidden (%) | % | 1
-- column: algorithm_bytes_per_s | algbw (GB/s) | GB/s | 2
-- column: bus_bytes_per_s | busbw (GB/s) | GB/s | 2
-- column: setting | Setting | text | machine
-- note: SELECT 'Oversize: tensors larger than the cap, each a bucket of its own.' FROM ddp_case
--   WHERE run_id = :run AND setting = :each AND oversize > 0 LIMIT 1
-- note: SELECT 'A negative Hidden: the time from the end of compute to the end of the last all-reduce is longer than the sum of the all-reduces, because ranks wait before and between them (for example when they share a CPU). Each time is a separate median.'
--   FROM ddp_case WHERE run_id = :run AND setting = :each AND variant = 'bucket' AND exposed_ns > comm_ns LIMIT 1
SELECT bucket_bytes, first_bucket_bytes, gradients, buckets, oversize, least_bucket_bytes, mean_bucket_bytes, most_bucket_bytes, comm_ns, exposed_ns,
       (SELECT predicted FROM v_work w WHERE w.case_id = c.case_id AND w.metric = 'exposed_ns') AS predicted_exposed_ns, 1 - exposed_ns / comm_ns AS hidden, gradient_bytes * 1e9 / comm_ns AS algorithm_bytes_per_s,
       gradient_bytes * 1e9 / comm_ns * 2 * (ranks - 1) / ranks AS bus_bytes_per_s, setting
FROM ddp_case c
WHERE run_id = :run AND setting = :each AND variant = 'bucket' AND status = 'ok'
ORDER BY gradients, first_bucket_bytes, bucket_bytes;

-- view: ddp_link
SELECT f.run_id, c.setting, c.gradients, min(c.ordinal) AS ordinal, max(c.ranks) AS ranks, max(c.gradient_bytes) AS gradient_bytes, f.n,
       f.intercept AS launch_ns, f.intercept_low AS launch_low_ns, f.intercept_high AS launch_high_ns,
       1e9 / f.slope AS link_bytes_per_s, 1e9 / f.slope_high AS link_low_bytes_per_s, 1e9 / f.slope_low AS link_high_bytes_per_s,
       p.slope * 1e9 AS produced_bytes_per_s, p.slope_low * 1e9 AS produced_low_bytes_per_s, p.slope_high * 1e9 AS produced_high_bytes_per_s
FROM v_fit f JOIN v_fit p ON p.run_id = f.run_id AND p.name = 'gradients_produced' AND p.fixed = f.fixed AND p.device = f.device
JOIN ddp_case c ON c.run_id = f.run_id AND c.variant = f.variant AND c.apart_from_size = f.fixed AND c.status = 'ok'
WHERE f.name = 'reduce_cost'
GROUP BY f.run_id, f.fixed;

-- table: link
-- title: Time of an all-reduce of b bytes: o + b / w (Theil-Sen line through the fastest of each size), and gradients produced per second
-- column: setting | Setting | text
-- column: gradients | Gradients | text | hide
-- column: launch_ns | o (us) | us | 2
-- column: launch_low_ns | 95 % interval | us | 2 interval
-- column: link_bytes_per_s | w, algbw (GB/s) | GB/s | 3
-- column: link_low_bytes_per_s | 95 % interval | GB/s | 3 interval
-- column: produced_bytes_per_s | g (GB/s) | GB/s | 3
-- column: produced_low_bytes_per_s | 95 % interval | GB/s | 3 interval
-- column: n | Sizes
-- column: regime | Regime | text
-- note: SELECT 'Sizes: between the smallest and the largest cap. The line uses the fastest all-reduce of each size: where times vary, w is above the average (busbw of the buckets). Regime: whether, at the best size of equal buckets, compute hides all but the last of '
--   || 'them (compute-bound), or each bucket waits for the one before (communication-bound).' FROM ddp_link WHERE run_id = :run LIMIT 1
SELECT setting, gradients, launch_ns, launch_low_ns, launch_high_ns, link_bytes_per_s, link_low_bytes_per_s, link_high_bytes_per_s,
       produced_bytes_per_s, produced_low_bytes_per_s, produced_high_bytes_per_s, n, regime
FROM ddp_model WHERE run_id = :run ORDER BY min(ordinal) OVER (PARTITION BY setting), gradients;

-- view: ddp_model
SELECT l.*, sqrt(gradient_bytes * launch_ns / 1e9 * produced_bytes_per_s) AS balance_bytes, hidden_bytes,
       CASE WHEN hidden_bytes <= sqrt(gradient_bytes * launch_ns / 1e9 * produced_bytes_per_s) THEN 'compute-bound' ELSE 'communication-bound' END AS regime,
       min(coalesce(hidden_bytes, gradient_bytes), sqrt(gradient_bytes * launch_ns / 1e9 * produced_bytes_per_s), gradient_bytes) AS general_bytes,
       min(sqrt(gradient_bytes * launch_ns / 1e9 * link_bytes_per_s), gradient_bytes) AS report_bytes
FROM (SELECT *, CASE WHEN produced_bytes_per_s < link_bytes_per_s THEN launch_ns / 1e9 / (1 / produced_bytes_per_s - 1 / link_bytes_per_s) END AS hidden_bytes
      FROM ddp_link) l;

-- view: ddp_measured
-- What the model says of each size that was measured: its buckets, played through. Sizes compete where the first bucket has the same cap.
SELECT c.run_id, c.case_id, c.setting, min(c.ordinal) OVER (PARTITION BY c.run_id, c.setting) AS setting_ordinal, c.gradients,
       coalesce(c.first_bucket_bytes, 0) AS first_bytes, c.bucket_bytes, c.tensors, c.all_reduces, c.step_ns, c.step_low_ns, c.step_high_ns, c.exposed_ns, w.predicted AS predicted_exposed_ns,
       first_value(c.step_ns) OVER b AS best_ns, first_value(c.step_low_ns) OVER b AS best_low_ns, first_value(c.step_high_ns) OVER b AS best_high_ns, row_number() OVER (s ORDER BY c.step_ns, c.bucket_bytes DESC) AS place,
       row_number() OVER (s ORDER BY w.predicted IS NULL, w.predicted, c.bucket_bytes DESC) AS predicted_place
FROM ddp_case c LEFT JOIN v_work w ON w.case_id = c.case_id AND w.metric = 'exposed_ns'
WHERE c.variant = 'bucket' AND c.status = 'ok'
WINDOW s AS (PARTITION BY c.run_id, c.setting, c.gradients, coalesce(c.first_bucket_bytes, 0)), b AS (s ORDER BY c.step_ns, c.bucket_bytes DESC);

-- view: ddp_modelled
-- The model's optimum knows no first bucket: it stands beside each that was measured.
SELECT f.first_bytes, o.* FROM ddp_model o
JOIN (SELECT DISTINCT run_id, setting, gradients, first_bytes FROM ddp_measured) f USING (run_id, setting, gradients);

-- view: ddp_choice
SELECT run_id, setting, gradients, first_bytes, 0 AS place, 'model, these tensors' AS choice, bucket_bytes AS chosen_bytes FROM ddp_measured
WHERE predicted_place = 1 AND predicted_exposed_ns IS NOT NULL
UNION ALL SELECT run_id, setting, gradients, first_bytes, 1, 'model, equal buckets', general_bytes FROM ddp_modelled
UNION ALL SELECT run_id, setting, gradients, first_bytes, 2, 'sqrt(s o w)', report_bytes FROM ddp_modelled
UNION ALL SELECT run_id, setting, gradients, first_bytes, 3, 'best measured', bucket_bytes FROM ddp_measured WHERE place = 1;

-- view: ddp_nearest
SELECT h.*, m.setting_ordinal, m.bucket_bytes, m.step_ns, m.exposed_ns, m.predicted_exposed_ns, m.best_ns,
       CASE WHEN m.place > 1 THEN m.step_low_ns / m.best_high_ns - 1 END AS regret_low, CASE WHEN m.place > 1 THEN m.step_high_ns / m.best_low_ns - 1 END AS regret_high,
       row_number() OVER (PARTITION BY h.run_id, h.setting, h.gradients, h.first_bytes, h.place
                          ORDER BY abs(ln(m.bucket_bytes) - ln(max(h.chosen_bytes, 1))), m.bucket_bytes) AS distance
FROM ddp_choice h JOIN ddp_measured m USING (run_id, setting, gradients, first_bytes);

-- table: choice
-- title: Best bucket size, and the time that each choice loses against the best measured one
-- column: setting | Setting | text
-- column: gradients | Gradients | text | hide
-- column: first_bucket_bytes | First (MB) | MB | 3 hide
-- column: choice | Choice | text
-- column: chosen_bytes | Chosen (MB) | MB | 3
-- column: bucket_bytes | Nearest measured (MB) | MB | 3
-- column: total_ns | Total (ms) | ms | 3
-- column: exposed_ns | Exposed (ms) | ms | 3
-- column: predicted_exposed_ns | Predicted (ms) | ms | 3
-- column: regret_ns | Loses (ms) | ms | 3
-- column: regret | Loses (%) | % | 1
-- column: regret_low | 95 % interval | % | 1 interval
-- note: SELECT 'These tensors: the measured size whose buckets, simulated with o, w and the times at which gradients were ready, end '
--   || 'first (Predicted: the exposed time of that simulation). Equal buckets: the smaller of sqrt(s o g) and, where gradients are produced slower than they are sent, '
--   || 'o / (1/g - 1/w). sqrt(s o w): correct only for g = w.' FROM ddp_model WHERE run_id = :run LIMIT 1
-- note: SELECT 'Not told apart from the best measured size: every choice whose interval of Loses contains 0.' FROM ddp_nearest
--   WHERE run_id = :run AND distance = 1 AND regret_low <= 0 LIMIT 1
-- note: SELECT 'Where the rows of the model are missing' || CASE WHEN max(tensors, all_reduces) > 4096 THEN ', there are more than 4096 tensors or buckets: their timelines are not kept.'
--   ELSE ', o and w are not known: this needs all-reduces of three or more sizes between the smallest and the largest cap, of which larger ones take longer: '
--   || '--bucket-bytes 64KiB:64MiB:*4' END FROM ddp_measured WHERE run_id = :run AND predicted_exposed_ns IS NULL GROUP BY max(tensors, all_reduces) > 4096
SELECT setting, gradients, nullif(first_bytes, 0) AS first_bucket_bytes, choice, chosen_bytes, bucket_bytes, step_ns AS total_ns, exposed_ns, predicted_exposed_ns, step_ns - best_ns AS regret_ns,
       step_ns / best_ns - 1 AS regret, regret_low, regret_high
FROM ddp_nearest
WHERE run_id = :run AND distance = 1
ORDER BY setting_ordinal, gradients, first_bytes, place;

-- view: ddp_best
-- The first process that measured the best size.
SELECT run_id, setting || CASE WHEN gradients LIKE 'copy%' THEN ', copied' ELSE '' END || iif(gradients LIKE '%split', ', split', '') || CASE first_bytes WHEN 0 THEN ''
       ELSE printf(', first bucket %g MB', first_bytes / 1e6) END AS setting, setting_ordinal, gradients, first_bytes, bucket_bytes, case_id,
       (SELECT min(invocation) FROM v_slice l WHERE l.case_id = m.case_id AND l.pass = 'timing' AND l.status = 'ok') AS invocation
FROM ddp_measured m WHERE place = 1;

-- table: timeline
-- title: Timeline of the best bucket size: {each}
-- each: SELECT setting FROM ddp_best WHERE run_id = :run ORDER BY setting_ordinal, gradients, first_bytes
-- column: bucket | Bucket
-- column: bytes | Size (MB) | MB | 3
-- column: ready_ns | Ready (ms) | ms | 3
-- column: started_ns | Started (ms) | ms | 3
-- column: ended_ns | Ended (ms) | ms | 3
-- column: waited_ns | Waited (ms) | ms | 3
-- column: took_ns | Took (ms) | ms | 3
-- column: exposed_ns | Exposed (ms) | ms | 3
-- column: bucket_bytes | Cap (MB) | MB | 3 machine
-- column: backward_ns | Backward (ms) | ms | 3 machine
-- column: setting | Setting | text | machine
-- note: SELECT printf('Times since the start of backward, in the last step of one process; backward took %.3f ms. Exposed: after its end. %s', max(backward_ns) / 1e6,
--   CASE WHEN count(*) > 40 THEN printf('%d buckets in between are omitted: `perfkit export csv --what timeline` has them.', count(*) - 40) ELSE '' END)
--   FROM ddp_best b JOIN v_timeline t ON t.case_id = b.case_id AND t.invocation = b.invocation WHERE b.run_id = :run AND b.setting = :each HAVING count(*) > 0
SELECT bucket, bytes, ready_ns, started_ns, ended_ns, started_ns - ready_ns AS waited_ns, ended_ns - started_ns AS took_ns,
       max(ended_ns - max(started_ns, backward_ns), 0) AS exposed_ns, bucket_bytes, backward_ns, setting
FROM (SELECT t.*, b.bucket_bytes, b.setting, count(*) OVER () AS buckets
      FROM ddp_best b JOIN v_timeline t ON t.case_id = b.case_id AND t.invocation = b.invocation
      WHERE b.run_id = :run AND b.setting = :each)
WHERE bucket < 30 OR bucket >= buckets - 10
ORDER BY bucket;

-- Charts; of several settings each names what differs.

-- view: ddp_named
SELECT run_id, setting, differing(setting, group_concat(setting, char(10)) OVER (PARTITION BY run_id)) AS which FROM (SELECT DISTINCT run_id, setting FROM ddp_case);

-- chart: buckets
-- title: Time of a step over the bucket size, with what the model says
-- mark: line
-- x: bucket_bytes log
-- y: step_ns
-- interval: low_ns high_ns
-- color: gradients
-- facet: setting
-- fit: modelled_ns
-- rule: choice
-- column: bucket_bytes | Bucket (MB) | MB | 3
-- column: step_ns | Step (ms) | ms | 3
-- column: low_ns | From (ms) | ms | 3
-- column: high_ns | To (ms) | ms | 3
-- column: modelled_ns | Model (ms) | ms | 3
-- column: gradients | Gradients | text
-- column: setting | Setting | text
-- column: choice | Choice | text
-- note: SELECT 'Dashed: the time without averaging and what the model predicts to be exposed. Vertical: the best size as measured, by the model of these tensors, by that of equal buckets, and by sqrt(s o w); lines close together share a text, from left to right.' FROM ddp_measured
--   WHERE run_id = :run AND predicted_exposed_ns IS NOT NULL LIMIT 1
WITH drawn AS (SELECT m.setting, m.setting_ordinal, m.first_bytes, m.bucket_bytes, m.step_ns, m.step_low_ns AS low_ns, m.step_high_ns AS high_ns,
                      coalesce((SELECT n.step_ns FROM ddp_case n WHERE n.run_id = m.run_id AND n.setting = m.setting AND n.variant = 'none'), c.compute_ns) + m.predicted_exposed_ns AS modelled_ns,
                      m.gradients || iif(m.first_bytes > 0, printf(', first %g MB', m.first_bytes / 1e6), '') AS gradients
               FROM ddp_measured m JOIN ddp_case c ON c.case_id = m.case_id WHERE m.run_id = :run),
-- lines that are close together share a text, at the first of them
choices AS (SELECT setting, chosen_bytes, group_concat(choice, ', ') AS choice, ln(chosen_bytes) - lag(ln(chosen_bytes)) OVER (PARTITION BY setting ORDER BY chosen_bytes) < 0.4 AS close
            FROM (SELECT DISTINCT setting, chosen_bytes, CASE place WHEN 0 THEN 'model' WHEN 1 THEN 'equal' WHEN 2 THEN 'formula' ELSE 'best' END AS choice FROM ddp_choice
                  WHERE run_id = :run AND chosen_bytes > 0 ORDER BY place DESC) GROUP BY setting, chosen_bytes),
grouped AS (SELECT *, sum(NOT coalesce(close, 0)) OVER (PARTITION BY setting ORDER BY chosen_bytes) AS cluster FROM choices),
chosen AS (SELECT setting, chosen_bytes, iif(coalesce(close, 0), '', group_concat(choice, ', ') OVER (PARTITION BY setting, cluster ORDER BY chosen_bytes ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS choice
           FROM grouped)
SELECT d.bucket_bytes, d.step_ns, d.low_ns, d.high_ns, d.modelled_ns, d.gradients, coalesce(nullif(trim(w.which, ' ()'), ''), d.setting) AS setting, d.choice
FROM (SELECT *, NULL AS choice FROM drawn
      UNION ALL SELECT setting, NULL, NULL, chosen_bytes, NULL, NULL, NULL, NULL, NULL, choice FROM chosen) d
JOIN ddp_named w ON w.run_id = :run AND w.setting = d.setting
ORDER BY d.choice IS NOT NULL, d.setting_ordinal, d.gradients, d.bucket_bytes;

-- chart: methods
-- title: What a step consists of
-- mark: stack
-- x: method
-- y: time_ns
-- color: part
-- facet: setting
-- label: overhead
-- column: method | Method | text
-- column: time_ns | Time (ms) | ms | 3
-- column: part | Part | text
-- column: setting | Setting | text
-- column: overhead | Overhead (%) | text
-- note: SELECT 'Above: overhead in %, the part of the step that is not compute. Compute and exposed communication are medians of their own: their sum can differ from the median of the step.' FROM ddp_case WHERE run_id = :run AND status = 'ok' LIMIT 1
SELECT c.variant || iif(c.bucket_bytes > 0, printf(' %.3g MB', c.bucket_bytes / 1e6), '') || iif(c.first_bucket_bytes > 0, printf(', first %g MB', c.first_bucket_bytes / 1e6), '')
       || iif(c.gradients LIKE 'copy%', ', copied', '') || iif(c.gradients LIKE '%split', ', split', '') AS method,
       CASE p.column1 WHEN 'compute' THEN c.compute_ns ELSE c.exposed_ns END AS time_ns, p.column1 AS part, coalesce(nullif(trim(w.which, ' ()'), ''), c.setting) AS setting,
       iif(p.column1 = 'compute' AND c.variant <> 'none', printf('%.0f', 100 * max(0, 1 - c.compute_ns / c.step_ns)), NULL) AS overhead
FROM ddp_case c JOIN ddp_named w USING (run_id, setting) JOIN (VALUES ('exposed communication'), ('compute')) p
WHERE c.run_id = :run AND c.status = 'ok' AND c.compute_ns IS NOT NULL
ORDER BY min(c.ordinal) OVER (PARTITION BY c.setting), min(c.ordinal) OVER (PARTITION BY c.variant), c.ordinal, p.column1 = 'compute';

-- chart: overlap
-- title: When the buckets of the best size were ready and sent
-- mark: span
-- x: from_ns
-- x2: to_ns
-- y: bucket
-- color: what
-- facet: setting
-- rule: ends
-- column: from_ns | Since the start of backward (ms) | ms | 3
-- column: to_ns | to (ms) | ms | 3
-- column: bucket | Bucket
-- column: what | What | text
-- column: setting | Setting | text
-- column: ends | Rule | text
WITH sent AS (SELECT t.*, b.setting, b.setting_ordinal, count(*) OVER (PARTITION BY b.setting) AS buckets
              FROM ddp_best b JOIN v_timeline t ON t.case_id = b.case_id AND t.invocation = b.invocation WHERE b.run_id = :run)
SELECT what, from_ns, to_ns, bucket, coalesce(nullif(trim(w.which, ' ()'), ''), d.setting) AS setting, ends
FROM (SELECT p.column1 AS what, iif(p.column1 = 'waits', s.ready_ns, s.started_ns) AS from_ns, iif(p.column1 = 'waits', s.started_ns, s.ended_ns) AS to_ns, s.bucket, s.setting,
             NULL AS ends, s.setting_ordinal
      FROM sent s JOIN (VALUES ('all-reduce'), ('waits')) p WHERE s.bucket < 30 OR s.bucket >= s.buckets - 10
      UNION ALL SELECT NULL, max(backward_ns), NULL, NULL, setting, 'backward ends', setting_ordinal FROM sent GROUP BY setting) d
LEFT JOIN ddp_named w ON w.run_id = :run AND w.setting = d.setting
ORDER BY d.setting_ordinal, ends IS NOT NULL, bucket, what;

-- Findings, in order of worth; a run of several settings names them.

-- finding: bucket
SELECT speedup_text(printf('The best bucket size, %.3g MB,', m.bucket_bytes / 1e6), 'naive', c.total_speedup, c.total_speedup_low, c.total_speedup_high) || which || '.' AS sentence
FROM ddp_measured m JOIN ddp_speedup c ON c.run_id = m.run_id AND c.case_id = m.case_id JOIN ddp_named w ON w.run_id = m.run_id AND w.setting = m.setting
WHERE m.run_id = :run AND m.place = 1 ORDER BY m.setting_ordinal, m.step_ns LIMIT 2;

-- finding: overlap
SELECT speedup_text(variant, 'naive', total_speedup, total_speedup_low, total_speedup_high) || which || '.' AS sentence
FROM ddp_speedup c JOIN ddp_named w USING (run_id, setting) WHERE run_id = :run AND variant = 'overlap' AND total_speedup IS NOT NULL ORDER BY ordinal LIMIT 1;

-- The size that the formula, then the model, chooses: what it loses against the best measured size.
-- finding: choice
SELECT CASE place WHEN 2 THEN 'The formula sqrt(s o w)' ELSE 'The model of these tensors' END || printf(' chooses %.3g MB', chosen_bytes / 1e6)
       || CASE WHEN step_ns <= best_ns AND chosen_bytes = bucket_bytes THEN ', which is the best measured size'
               WHEN step_ns <= best_ns THEN printf('; the nearest size, %.3g MB, is the best', bucket_bytes / 1e6)
               WHEN regret_low > 0 THEN printf(', which loses %.1f %% (%.1f to %.1f) against the best size', 100 * (step_ns / best_ns - 1), 100 * regret_low, 100 * regret_high)
               WHEN regret_low IS NULL THEN ': what it loses has no interval'
               ELSE printf(', not told apart from the best size: %.1f %% (%.1f to %.1f) slower', 100 * (step_ns / best_ns - 1), 100 * regret_low, 100 * regret_high) END || which || '.' AS sentence
FROM ddp_nearest JOIN ddp_named USING (run_id, setting) WHERE run_id = :run AND distance = 1 AND place IN (0, 2) ORDER BY setting_ordinal, place DESC LIMIT 2;

-- finding: link
SELECT printf('An all-reduce takes %s plus its bytes at %.4g GB/s (%.4g to %.4g); equal buckets are %s', time_text(launch_ns), link_bytes_per_s / 1e9, link_low_bytes_per_s / 1e9,
              link_high_bytes_per_s / 1e9, regime) || which || '.' AS sentence
FROM ddp_model JOIN ddp_named USING (run_id, setting) WHERE run_id = :run AND link_low_bytes_per_s > 0 AND link_high_bytes_per_s > 0 ORDER BY ordinal LIMIT 1;
