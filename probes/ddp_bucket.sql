-- Tables of ddp-bucket: the report's (methods, named ranges), bucket sizes, what an all-reduce costs, and which size a model would choose.
-- docs/tables.md explains the directives, docs/ddp-bucket.md the model. A `setting` is everything but the way of averaging.

-- view: ddp_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.axes, c.status, c.message,
       json_remove(c.axes, '$.bucket_bytes', '$.first_bucket_bytes') AS apart_from_size,
       CASE WHEN c.axes ->> 'tensors' <> 'model' THEN substr(c.axes ->> 'tensors', 1, length(c.axes ->> 'tensors') - length('#1a2b3c4d'))
            ELSE c.axes ->> 'model' END || printf(', compute %g ms, %d ranks, %s, link %g us %g GB/s', c.axes ->> 'compute_ms', c.axes ->> 'ranks',
            c.axes ->> 'dtype', c.axes ->> 'link_latency_us', (c.axes ->> 'link_bytes_per_s') / 1e9)
            || CASE c.axes ->> 'link_jitter' WHEN 0 THEN '' ELSE printf(' jitter %g', c.axes ->> 'link_jitter') END AS setting,
       c.axes ->> 'ranks' AS ranks, c.axes ->> 'bucket_bytes' AS bucket_bytes, nullif(c.axes ->> 'first_bucket_bytes', 0) AS first_bucket_bytes,
       c.axes ->> 'gradients' AS gradients, m.*, max(m.step_high_ns / m.step_ns - 1, 1 - m.step_low_ns / m.step_ns) AS step_uncertainty,
       m.forward_ns + m.backward_ns AS compute_ns
FROM v_case c
LEFT JOIN (SELECT case_id AS of_case,
                  max(median) FILTER (WHERE metric = 'step_ns') AS step_ns,
                  max(ci_low) FILTER (WHERE metric = 'step_ns') AS step_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'step_ns') AS step_high_ns,
                  max(median) FILTER (WHERE metric = 'forward_ns') AS forward_ns,
                  max(median) FILTER (WHERE metric = 'backward_ns') AS backward_ns,
                  max(median) FILTER (WHERE metric = 'copy_back_ns') AS copy_back_ns,
                  max(median) FILTER (WHERE metric = 'comm_ns') AS comm_ns,
                  max(median) FILTER (WHERE metric = 'exposed_ns') AS exposed_ns,
                  max(median) FILTER (WHERE metric = 'peak_bytes') AS peak_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'all_reduces') AS INTEGER) AS all_reduces,
                  CAST(max(median) FILTER (WHERE metric = 'gradient_bytes') AS INTEGER) AS gradient_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'buckets') AS INTEGER) AS buckets,
                  CAST(max(median) FILTER (WHERE metric = 'least_bucket_bytes') AS INTEGER) AS least_bucket_bytes,
                  max(median) FILTER (WHERE metric = 'mean_bucket_bytes') AS mean_bucket_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'most_bucket_bytes') AS INTEGER) AS most_bucket_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'oversize') AS INTEGER) AS oversize
           FROM v_summary GROUP BY case_id) m ON m.of_case = c.case_id
WHERE c.status <> 'skipped';

-- view: ddp_naive
SELECT run_id, setting, step_ns AS naive_step_ns, comm_ns AS naive_comm_ns FROM ddp_case WHERE variant = 'naive';

-- table: methods
-- title: Methods: {each}
-- each: SELECT setting FROM ddp_case WHERE run_id = :run GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Method | text
-- column: bucket_bytes | Bucket (MB) | MB | 3 hide
-- column: first_bucket_bytes | First (MB) | MB | 3 hide
-- column: gradients | Gradients | text | hide
-- column: total_ns | Total (ms) | ms | 3
-- column: total_uncertainty | ± % | ± | 1 optional4
-- column: comm_ns | Comm (ms) | ms | 3
-- column: compute_ns | Compute (ms) | ms | 3
-- column: exposed_ns | Exposed (ms) | ms | 3
-- column: overhead | Overhead (%) | % | 1
-- column: total_speedup | Total vs naive | x | 2 optional3
-- column: comm_speedup | Comm vs naive | x | 2 optional2
-- column: peak_bytes | Peak Mem (GB) | GB | 3 optional1
-- column: status | Status | text
-- column: setting | Setting | text | machine
-- note: SELECT 'Not measured: ' || variant || coalesce(' ' || bucket_bytes, '') || ': ' || message FROM ddp_case
--   WHERE run_id = :run AND setting = :each AND status <> 'ok' AND message <> '' GROUP BY message ORDER BY min(ordinal)
-- note: SELECT 'Overhead: the share of the step that is not compute. Comm: all-reduces added up, hidden ones too.'
SELECT variant, bucket_bytes, first_bucket_bytes, gradients, step_ns AS total_ns, step_uncertainty AS total_uncertainty, comm_ns, compute_ns,
       exposed_ns, 1 - compute_ns / step_ns AS overhead, naive_step_ns / step_ns AS total_speedup, naive_comm_ns / nullif(comm_ns, 0) AS comm_speedup,
       peak_bytes, CASE status WHEN 'ok' THEN 'OK' WHEN 'oom' THEN 'OOM' ELSE status END AS status, setting
FROM ddp_case c LEFT JOIN ddp_naive USING (run_id, setting)
WHERE run_id = :run AND setting = :each
ORDER BY ordinal;

-- table: ranges
-- title: Named ranges: {each}
-- each: SELECT setting FROM ddp_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Method | text
-- column: bucket_bytes | Bucket (MB) | MB | 3 hide
-- column: instances | Instances
-- column: mean_ns | Avg (ms) | ms | 3
-- column: median_ns | Med (ms) | ms | 3
-- column: min_ns | Min (ms) | ms | 3
-- column: max_ns | Max (ms) | ms | 3
-- column: sd_ns | StdDev (ms) | ms | 3
-- column: range | Range | text
-- column: setting | Setting | text | machine
SELECT c.variant, c.bucket_bytes, s.n AS instances, s.mean AS mean_ns, s.median AS median_ns, s.min AS min_ns, s.max AS max_ns, s.sd AS sd_ns,
       CASE s.metric WHEN 'backward_ns' THEN CASE c.variant WHEN 'overlap' THEN 'Backward Pass (with async comm)' WHEN 'bucket' THEN 'Backward Pass (buckets overlap)'
                                    ELSE 'Backward Pass (compute only)' END
            WHEN 'all_reduce_ns' THEN CASE c.variant WHEN 'naive' THEN 'All-Reduce Gradients (sequential)' WHEN 'coalesced' THEN 'All-Reduce Gradients (one call)'
                                      ELSE 'All-Reduce Gradients (flat)' END
            WHEN 'wait_ns' THEN printf('Wait for All %s (%d handles)', CASE c.variant WHEN 'bucket' THEN 'Buckets' ELSE 'Gradients' END, c.all_reduces)
            WHEN 'flatten_ns' THEN 'Flatten'
            ELSE 'Unflatten & Copy Back' END AS range, c.setting
FROM ddp_case c JOIN v_summary s ON s.case_id = c.case_id
WHERE c.run_id = :run AND c.setting = :each AND c.status = 'ok'
  AND s.metric IN ('backward_ns', 'flatten_ns', 'all_reduce_ns', 'wait_ns', 'copy_back_ns')
ORDER BY c.ordinal, CASE s.metric WHEN 'backward_ns' THEN 1 WHEN 'flatten_ns' THEN 2 WHEN 'copy_back_ns' THEN 4 ELSE 3 END;

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
-- column: hidden | Hidden (%) | % | 1
-- column: algorithm_bytes_per_s | algbw (GB/s) | GB/s | 2
-- column: bus_bytes_per_s | busbw (GB/s) | GB/s | 2
-- column: setting | Setting | text | machine
-- note: SELECT 'Oversize: tensors larger than the cap, each a bucket of its own.' FROM ddp_case
--   WHERE run_id = :run AND setting = :each AND oversize > 0 LIMIT 1
SELECT bucket_bytes, first_bucket_bytes, gradients, buckets, oversize, least_bucket_bytes, mean_bucket_bytes, most_bucket_bytes, comm_ns, exposed_ns,
       1 - exposed_ns / comm_ns AS hidden, gradient_bytes * 1e9 / comm_ns AS algorithm_bytes_per_s,
       gradient_bytes * 1e9 / comm_ns * 2 * (ranks - 1) / ranks AS bus_bytes_per_s, setting
FROM ddp_case
WHERE run_id = :run AND setting = :each AND variant = 'bucket' AND status = 'ok'
ORDER BY gradients, first_bucket_bytes, bucket_bytes;

-- view: ddp_link
-- Time of all all-reduces over their number: the slope is what each costs, the rest what the bytes take.
SELECT f.run_id, c.setting, c.gradients, max(c.ranks) AS ranks, max(c.gradient_bytes) AS gradient_bytes, f.n,
       max(f.slope, 0) AS launch_ns, max(f.slope_low, 0) AS launch_low_ns, f.slope_high AS launch_high_ns,
       max(c.gradient_bytes) * 1e9 / f.intercept AS link_bytes_per_s, max(c.gradient_bytes) * 1e9 / f.intercept_high AS link_low_bytes_per_s,
       max(c.gradient_bytes) * 1e9 / f.intercept_low AS link_high_bytes_per_s, max(c.gradient_bytes) * 1e9 / avg(c.backward_ns) AS produced_bytes_per_s
FROM v_fit f JOIN ddp_case c ON c.run_id = f.run_id AND c.variant = f.variant AND c.apart_from_size = f.fixed AND c.status = 'ok'
WHERE f.name = 'link_cost' AND f.variant = 'bucket' AND f.intercept > 0 AND f.intercept_low > 0
GROUP BY f.run_id, f.fixed;

-- table: link
-- title: What an all-reduce of b bytes takes: o + b / w (Theil-Sen over bucket sizes), and gradients produced in a second
-- column: setting | Setting | text
-- column: gradients | Gradients | text | hide
-- column: launch_ns | o (us) | us | 2
-- column: launch_low_ns | 95 % from | us | 2
-- column: launch_high_ns | to | us | 2
-- column: link_bytes_per_s | w, algbw (GB/s) | GB/s | 3
-- column: link_low_bytes_per_s | 95 % from | GB/s | 3
-- column: link_high_bytes_per_s | to | GB/s | 3
-- column: produced_bytes_per_s | g (GB/s) | GB/s | 3
-- column: n | Sizes
-- column: regime | Regime | text
-- note: SELECT 'Regime: whether the best size of equal buckets is where compute hides all but the last of them (compute-bound), or each waits for the one before.'
--   FROM ddp_link WHERE run_id = :run LIMIT 1
SELECT setting, gradients, launch_ns, launch_low_ns, launch_high_ns, link_bytes_per_s, link_low_bytes_per_s, link_high_bytes_per_s,
       produced_bytes_per_s, n, regime
FROM ddp_model WHERE run_id = :run ORDER BY setting, gradients;

-- view: ddp_model
SELECT l.*, sqrt(gradient_bytes * launch_ns / 1e9 * produced_bytes_per_s) AS balance_bytes, hidden_bytes,
       CASE WHEN hidden_bytes <= sqrt(gradient_bytes * launch_ns / 1e9 * produced_bytes_per_s) THEN 'compute-bound' ELSE 'communication-bound' END AS regime,
       min(coalesce(hidden_bytes, gradient_bytes), sqrt(gradient_bytes * launch_ns / 1e9 * produced_bytes_per_s), gradient_bytes) AS general_bytes,
       min(sqrt(gradient_bytes * launch_ns / 1e9 * link_bytes_per_s), gradient_bytes) AS report_bytes
FROM (SELECT *, CASE WHEN produced_bytes_per_s < link_bytes_per_s THEN launch_ns / 1e9 / (1 / produced_bytes_per_s - 1 / link_bytes_per_s) END AS hidden_bytes
      FROM ddp_link) l;

-- view: ddp_measured
SELECT run_id, setting, gradients, bucket_bytes, step_ns, exposed_ns, min(step_ns) OVER w AS best_ns, row_number() OVER (w ORDER BY step_ns, bucket_bytes DESC) AS place
FROM ddp_case
WHERE variant = 'bucket' AND status = 'ok' AND first_bucket_bytes IS NULL
WINDOW w AS (PARTITION BY run_id, setting, gradients);

-- view: ddp_choice
SELECT run_id, setting, gradients, 0 AS place, 'model' AS choice, general_bytes AS chosen_bytes FROM ddp_model
UNION ALL SELECT run_id, setting, gradients, 1, 'formula of reports', report_bytes FROM ddp_model
UNION ALL SELECT run_id, setting, gradients, 2, 'best measured', bucket_bytes FROM ddp_measured WHERE place = 1;

-- view: ddp_nearest
SELECT h.*, m.bucket_bytes, m.step_ns, m.exposed_ns, m.best_ns,
       row_number() OVER (PARTITION BY h.run_id, h.setting, h.gradients, h.place ORDER BY abs(ln(m.bucket_bytes) - ln(max(h.chosen_bytes, 1))), m.bucket_bytes) AS distance
FROM ddp_choice h JOIN ddp_measured m USING (run_id, setting, gradients);

-- table: choice
-- title: Which bucket size to choose, and what each choice loses against the best that was measured
-- column: setting | Setting | text
-- column: gradients | Gradients | text | hide
-- column: choice | Choice | text
-- column: chosen_bytes | Says (MB) | MB | 3
-- column: bucket_bytes | Nearest measured (MB) | MB | 3
-- column: total_ns | Total (ms) | ms | 3
-- column: exposed_ns | Exposed (ms) | ms | 3
-- column: regret_ns | Loses (ms) | ms | 3
-- column: regret | Loses (%) | % | 1
-- note: SELECT 'model: the least of sqrt(s o g) and, where gradients are produced slower than they are sent, o / (1/g - 1/w). Formula of reports: sqrt(s o w), right for g = w alone.'
--   FROM ddp_model WHERE run_id = :run LIMIT 1
SELECT setting, gradients, choice, chosen_bytes, bucket_bytes, step_ns AS total_ns, exposed_ns, step_ns - best_ns AS regret_ns, step_ns / best_ns - 1 AS regret
FROM ddp_nearest
WHERE run_id = :run AND distance = 1
ORDER BY setting, gradients, place;
