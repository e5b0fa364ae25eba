-- Tables of attention-scaling: the report's two, the variants side by side, fitted exponents, the crossover.
-- docs/tables.md explains the directives. Bytes and FLOPs are declared by the probe, ceilings measured on the device.

-- view: attention_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.device, c.axes,
       c.axes ->> 'd_model' AS d_model, c.axes ->> 'seq_len' AS seq_len,
       nullif(json_remove(c.identity, '$.d_model', '$.seq_len'), '{}') AS other_axes,
       f.median AS forward_ns, f.ci_low AS forward_ci_low_ns, f.ci_high AS forward_ci_high_ns,
       f.uncertainty AS forward_uncertainty, f.invocations,
       b.median AS backward_ns, b.ci_low AS backward_ci_low_ns, b.ci_high AS backward_ci_high_ns,
       b.uncertainty AS backward_uncertainty,
       f.median + b.median AS total_ns, f.ci_low + b.ci_low AS total_ci_low_ns, f.ci_high + b.ci_high AS total_ci_high_ns,
       m.median AS before_backward_bytes, p.median AS peak_bytes, c.predicted_bytes,
       CASE c.status WHEN 'ok' THEN 'OK' WHEN 'oom' THEN 'OOM' ELSE c.status END AS status, c.message,
       -- the rate of products is that of fp32: those of tensor cores have no floor
       CASE WHEN c.axes ->> 'dtype' = 'fp32' AND coalesce(c.axes ->> 'math', 'ieee') = 'ieee' THEN max(fw.flops / k.flops, fw.bytes / l.bytes_per_s) * 1e9 END AS forward_floor_ns,
       CASE WHEN c.axes ->> 'dtype' = 'fp32' AND coalesce(c.axes ->> 'math', 'ieee') = 'ieee' THEN max(bw.flops / k.flops, bw.bytes / l.bytes_per_s) * 1e9 END AS backward_floor_ns,
       iif(fw.flops / k.flops > fw.bytes / l.bytes_per_s, 'fp32', l.level) AS forward_limit,
       iif(bw.flops / k.flops > bw.bytes / l.bytes_per_s, 'fp32', l.level) AS backward_limit,
       fw.flops AS forward_flops, fw.bytes AS forward_bytes, bw.flops AS backward_flops, bw.bytes AS backward_bytes,
       l.level AS lives_in,
       (c.axes ->> 'batch') * (c.axes ->> 'heads') * (c.axes ->> 'seq_len') * (c.axes ->> 'seq_len') * iif(c.axes ->> 'dtype' = 'bf16', 2.0, 4.0) AS scores_bytes
FROM v_case c
JOIN v_run r ON r.run_id = c.run_id
LEFT JOIN v_summary f ON f.case_id = c.case_id AND f.metric = 'forward_ns'
LEFT JOIN v_summary b ON b.case_id = c.case_id AND b.metric = 'backward_ns'
LEFT JOIN v_summary m ON m.case_id = c.case_id AND m.metric = 'before_backward_bytes'
LEFT JOIN v_summary p ON p.case_id = c.case_id AND p.metric = 'peak_bytes'
LEFT JOIN v_work fw ON fw.case_id = c.case_id AND fw.metric = 'forward_ns'
LEFT JOIN v_work bw ON bw.case_id = c.case_id AND bw.metric = 'backward_ns'
LEFT JOIN v_case_level l ON l.run_id = c.run_id AND l.case_id = c.case_id
LEFT JOIN (SELECT run_id, device, value AS flops FROM v_ceiling WHERE key = 'fp32_flops_per_s') k ON k.run_id = c.run_id AND k.device = coalesce(r.settings ->> 'ceilings_of', c.device);

-- view: attention_pair
SELECT t.*, v.forward_ns / t.forward_ns AS forward_speedup, v.backward_ns / t.backward_ns AS backward_speedup,
       v.total_ns / t.total_ns AS total_speedup, 1 - t.peak_bytes / v.peak_bytes AS memory_saved,
       p.forward_ci_low_ns / t.forward_ci_high_ns AS forward_speedup_low, p.forward_ci_high_ns / t.forward_ci_low_ns AS forward_speedup_high,
       p.backward_ci_low_ns / t.backward_ci_high_ns AS backward_speedup_low, p.backward_ci_high_ns / t.backward_ci_low_ns AS backward_speedup_high,
       p.total_ci_low_ns / t.total_ci_high_ns AS total_speedup_low, p.total_ci_high_ns / t.total_ci_low_ns AS total_speedup_high
FROM attention_case t
LEFT JOIN attention_case v ON v.run_id = t.run_id AND v.device = t.device AND v.axes = t.axes AND v.variant = 'vanilla'
LEFT JOIN attention_case p ON p.case_id = v.case_id AND t.variant <> 'vanilla';

-- table: configuration
-- title: Configuration
-- column: batch | Batch
-- column: heads | Heads
-- column: dtype | Dtype | text
-- column: math | Math | text | hide
-- column: causal | Causal | text
-- column: d_models | d_model | text
-- column: seq_lens | seq_len | text
WITH c AS (SELECT axes ->> 'batch' AS batch, axes ->> 'heads' AS heads, axes ->> 'dtype' AS dtype, nullif(axes ->> 'math', 'ieee') AS math,
                  iif(axes ->> 'causal', 'yes', 'no') AS causal, d_model, seq_len, ordinal
           FROM attention_case WHERE run_id = :run AND status <> 'skipped')
SELECT batch, heads, dtype, math, causal,
       (SELECT group_concat(d_model, ', ') FROM (SELECT DISTINCT d.d_model FROM c d
        WHERE (d.batch, d.heads, d.dtype, d.math, d.causal) IS (c.batch, c.heads, c.dtype, c.math, c.causal) ORDER BY 1)) AS d_models,
       (SELECT group_concat(seq_len, ', ') FROM (SELECT DISTINCT d.seq_len FROM c d
        WHERE (d.batch, d.heads, d.dtype, d.math, d.causal) IS (c.batch, c.heads, c.dtype, c.math, c.causal) ORDER BY 1)) AS seq_lens
FROM c
GROUP BY batch, heads, dtype, math, causal
ORDER BY min(ordinal);

-- table: scaling
-- headline: 2
-- title: Attention scaling, {each}
-- each: SELECT variant FROM attention_case WHERE run_id = :run GROUP BY variant ORDER BY min(ordinal)
-- column: variant | Variant | text | machine
-- column: d_model
-- column: seq_len
-- column: forward_ns | Forward (ms) | ms | 3
-- column: backward_ns | Backward (ms) | ms | 3
-- column: before_backward_bytes | Mem Before Bwd (GB) | GB | 3 optional3
-- column: peak_bytes | Peak Mem (GB) | GB | 3 optional4
-- column: peak_matrices | Peak / S² | x | 2 optional2
-- column: status | Status | state
-- column: forward_uncertainty | Fwd ± % | ± | 1 optional8
-- column: backward_uncertainty | Bwd ± % | ± | 1 optional7
-- column: forward_of_floor | Fwd % floor | % | 0 optional6 over
-- column: forward_above_floor | | json | machine
-- column: backward_of_floor | Bwd % floor | % | 0 optional5 over
-- column: backward_above_floor | | json | machine
-- column: predicted_bytes | Predicted (GB) | GB | 3 optional1
-- column: lives_in | Level | text | optional1
-- column: forward_ci_low_ns | Fwd from (ms) | ms | 3 machine
-- column: forward_ci_high_ns | Fwd to (ms) | ms | 3 machine
-- column: backward_ci_low_ns | Bwd from (ms) | ms | 3 machine
-- column: backward_ci_high_ns | Bwd to (ms) | ms | 3 machine
-- column: other_axes | Other axes | json | hide
-- note: SELECT message FROM attention_case WHERE run_id = :run AND variant = :each AND status <> 'OK' AND message <> ''
--   GROUP BY message ORDER BY min(ordinal)
-- note: SELECT 'Peak / S²: the peak in score matrices, batch × heads × seq_len² elements of ' || min(width) || iif(max(width) > min(width), ' or ' || max(width), '') || ' bytes.'
--   FROM (SELECT iif(axes ->> 'dtype' = 'bf16', 2, 4) AS width FROM attention_case WHERE run_id = :run AND variant = :each AND peak_bytes > 0) HAVING count(*) > 0
-- note: SELECT 'Uncertain: the medians of ' || sum(noisy) || ' of ' || count(*) || ' cases may be off by more than 10 %. Use more --invocations '
--   || 'or a quieter machine.'
--   FROM (SELECT max(forward_uncertainty, backward_uncertainty) > 0.1 AS noisy FROM attention_case
--         WHERE run_id = :run AND variant = :each AND forward_ns IS NOT NULL) HAVING sum(noisy) > 0
-- note: SELECT note FROM v_interval_note WHERE run_id = :run AND experiment = 'attention-scaling'
-- note: SELECT 'Cold: the caches were emptied before every sample; a case that fits in a cache had to load its inputs from memory.'
--   FROM v_setting WHERE run_id = :run AND key = 'caches' LIMIT 1
-- note: SELECT 'Measured on a busy host: ' || group_concat(k.key, ', ') || ': the highest value was not confirmed by a second one within 5 %, '
--   || 'so that % of floor may be too high. The next run measures again.'
--   FROM v_ceiling k JOIN v_run r ON r.run_id = k.run_id
--   WHERE k.run_id = :run AND NOT k.confirmed AND k.key IN ('fp32_flops_per_s', 'memory_bytes_per_s')
--   AND k.device IN (SELECT coalesce(r.settings ->> 'ceilings_of', c.device) FROM attention_case c WHERE c.run_id = :run)
--   AND :each = (SELECT variant FROM attention_case WHERE run_id = :run ORDER BY ordinal LIMIT 1) HAVING count(*) > 0
-- note: SELECT '! above 100 % of the floor: the work was faster than the measured ceilings allow (' || group_concat(ceiling, ', ') || '). '
--   || 'The ceilings are too low (`perfkit doctor --ceilings` on an idle machine)'
--   || iif(max(ceiling <> 'fp32'), ', or most of the bytes stayed in a faster level than that of the whole case, or were updated in place.', '.')
--   FROM (SELECT forward_limit AS ceiling FROM attention_case
--         WHERE run_id = :run AND variant = :each AND forward_floor_ns / forward_ns > 1.000000001
--         UNION SELECT backward_limit FROM attention_case
--         WHERE run_id = :run AND variant = :each AND backward_floor_ns / backward_ns > 1.000000001) HAVING count(*) > 0
-- note: SELECT 'The rate of memory is not proved flat: it may be too high, and % of floor with it (perfkit doctor --ceilings).'
--   FROM attention_case c JOIN v_run r ON r.run_id = c.run_id JOIN v_ceiling k ON k.run_id = c.run_id AND k.key = 'memory_bytes_per_s'
--   AND k.device = coalesce(r.settings ->> 'ceilings_of', c.device)
--   WHERE c.run_id = :run AND c.variant = :each AND c.lives_in = 'memory' AND k.evidence BETWEEN 1 AND 62 LIMIT 1
SELECT variant, d_model, seq_len, forward_ns, backward_ns, before_backward_bytes, peak_bytes, peak_bytes / scores_bytes AS peak_matrices, status, forward_uncertainty,
       backward_uncertainty, forward_floor_ns / forward_ns AS forward_of_floor,
       iif(forward_floor_ns / forward_ns > 1.000000001, 'true', 'false') AS forward_above_floor,
       backward_floor_ns / backward_ns AS backward_of_floor,
       iif(backward_floor_ns / backward_ns > 1.000000001, 'true', 'false') AS backward_above_floor, predicted_bytes, lives_in, forward_ci_low_ns, forward_ci_high_ns,
       backward_ci_low_ns, backward_ci_high_ns, other_axes
FROM attention_case
WHERE run_id = :run AND variant = :each
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), d_model, seq_len;

-- table: variants
-- headline: 1
-- title: Variants against vanilla (speed-up = vanilla's time / this time)
-- column: d_model
-- column: seq_len
-- column: variant | Variant | text
-- column: forward_ns | Forward (ms) | ms | 3 optional7
-- column: forward_speedup | Fwd speed-up | x | 2 optional4
-- column: forward_speedup_low | 95 % interval | x | 2 optional4 interval
-- column: forward_flops_per_s | Fwd {unit} | GFLOP/s TFLOP/s | 1 optional2
-- column: forward_bytes_per_s | Fwd GB/s | GB/s | 1 optional1
-- column: backward_ns | Backward (ms) | ms | 3 optional6
-- column: backward_speedup | Bwd speed-up | x | 2 optional4
-- column: backward_speedup_low | 95 % interval | x | 2 optional4 interval
-- column: total_speedup | Total speed-up | x | 2
-- column: total_speedup_low | 95 % interval | x | 2 interval
-- column: verdict | In words | state
-- column: peak_bytes | Peak Mem (GB) | GB | 3 optional3
-- column: memory_saved | Memory saved (%) | % | 1 optional5
-- column: other_axes | Other axes | json | hide
-- note: SELECT speedup_note('vanilla', count(total_speedup_low) < count(total_speedup), 'variant') FROM attention_pair
--   WHERE run_id = :run AND variant <> 'vanilla' AND total_speedup IS NOT NULL HAVING count(*) > 0
SELECT d_model, seq_len, variant, forward_ns, forward_speedup, forward_speedup_low, forward_speedup_high,
       forward_flops * 1e9 / forward_ns AS forward_flops_per_s, forward_bytes * 1e9 / forward_ns AS forward_bytes_per_s,
       backward_ns, backward_speedup, backward_speedup_low, backward_speedup_high, total_speedup, total_speedup_low, total_speedup_high,
       in_words(total_speedup_low, total_speedup_high) AS verdict, peak_bytes, memory_saved, other_axes
FROM attention_pair
WHERE run_id = :run AND forward_ns IS NOT NULL
  AND (SELECT count(DISTINCT variant) FROM attention_case WHERE run_id = :run) > 1
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), d_model, seq_len, ordinal;

-- What the intervals say of each row of a variant and each pass.
-- view: attention_told_pass
SELECT p.run_id, p.variant, min(p.ordinal) OVER (PARTITION BY p.run_id, p.variant) AS place, m.phase_order, m.phase,
       CASE m.phase_order WHEN 1 THEN p.forward_speedup WHEN 2 THEN p.backward_speedup ELSE p.total_speedup END AS speedup,
       CASE m.phase_order WHEN 1 THEN in_words(p.forward_speedup_low, p.forward_speedup_high)
            WHEN 2 THEN in_words(p.backward_speedup_low, p.backward_speedup_high)
            ELSE in_words(p.total_speedup_low, p.total_speedup_high) END AS told
FROM attention_pair p
JOIN (SELECT 1 AS phase_order, 'forward' AS phase UNION ALL SELECT 2, 'backward' UNION ALL SELECT 3, 'both') m
WHERE p.variant <> 'vanilla' AND p.total_speedup IS NOT NULL;

-- table: counts
-- title: In how many rows a variant is faster or slower than vanilla
-- column: variant | Variant | text
-- column: phase | Pass | text
-- column: rows | Rows
-- column: faster | Faster
-- column: slower | Slower
-- column: untold | Not told apart
-- column: unknown | No interval
-- column: medians_slower | Median slower
-- note: SELECT 'Faster and slower by the 95 % interval of the speed-up. Median slower: rows whose median is, whatever the interval.'
SELECT variant, phase, count(*) AS rows, sum(told IS 'faster') AS faster, sum(told IS 'slower') AS slower,
       sum(told IS 'not told apart') AS untold, sum(told IS NULL) AS unknown, sum(speedup < 1) AS medians_slower
FROM attention_told_pass
WHERE run_id = :run
GROUP BY variant, phase
ORDER BY min(place), min(phase_order);

-- view: attention_vendor
SELECT t.run_id, t.ordinal, t.d_model, t.seq_len, t.other_axes, p.variant AS peer, t.forward_ns, t.backward_ns,
       p.forward_ns / t.forward_ns AS forward_speedup, p.backward_ns / t.backward_ns AS backward_speedup,
       p.total_ns / t.total_ns AS total_speedup, p.total_ci_low_ns / t.total_ci_high_ns AS total_speedup_low,
       p.total_ci_high_ns / t.total_ci_low_ns AS total_speedup_high,
       p.forward_ci_low_ns / t.forward_ci_high_ns AS forward_speedup_low, p.forward_ci_high_ns / t.forward_ci_low_ns AS forward_speedup_high,
       p.backward_ci_low_ns / t.backward_ci_high_ns AS backward_speedup_low, p.backward_ci_high_ns / t.backward_ci_low_ns AS backward_speedup_high
FROM attention_case t
JOIN attention_case p ON p.run_id = t.run_id AND p.device = t.device AND p.axes = t.axes AND p.variant LIKE 'torch-%'
WHERE t.variant = 'cudnn' AND t.total_ns IS NOT NULL AND p.total_ns IS NOT NULL;

-- table: vendor
-- title: cudnn against PyTorch (speed-up = PyTorch's time / cudnn's)
-- column: d_model
-- column: seq_len
-- column: peer | Peer | text
-- column: forward_ns | Forward (ms) | ms | 3 optional2
-- column: forward_speedup | Fwd speed-up | x | 2 optional4
-- column: forward_speedup_low | 95 % interval | x | 2 optional4 interval
-- column: backward_ns | Backward (ms) | ms | 3 optional1
-- column: backward_speedup | Bwd speed-up | x | 2 optional3
-- column: backward_speedup_low | 95 % interval | x | 2 optional3 interval
-- column: total_speedup | Total speed-up | x | 2
-- column: total_speedup_low | 95 % interval | x | 2 interval
-- column: verdict | In words | state
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Least total speed-up: ' || group_concat(ratio_text(least, low, high) || ' against ' || peer, ', ') || '.'
--   FROM (SELECT peer, min(total_speedup) AS least, total_speedup_low AS low, total_speedup_high AS high FROM attention_vendor
--         WHERE run_id = :run GROUP BY peer ORDER BY peer) HAVING count(*) > 0
SELECT d_model, seq_len, peer, forward_ns, forward_speedup, forward_speedup_low, forward_speedup_high, backward_ns, backward_speedup,
       backward_speedup_low, backward_speedup_high, total_speedup, total_speedup_low, total_speedup_high,
       in_words(total_speedup_low, total_speedup_high) AS verdict, other_axes
FROM attention_vendor
WHERE run_id = :run
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), d_model, seq_len, peer;

-- table: exponents
-- title: Growth with seq_len (metric = c * seq_len^exponent, least squares on logs)
-- column: variant | Variant | text
-- column: d_model
-- column: metric | Metric | text
-- column: exponent | Exponent | | 2
-- column: exponent_low | 95 % interval | | 2 interval
-- column: r2 | R² | | 4
-- column: n | Points
-- column: other_axes | Other axes | json | hide
SELECT f.variant, f.fixed ->> 'd_model' AS d_model, f.metric, f.slope AS exponent, f.slope_low AS exponent_low,
       f.slope_high AS exponent_high, f.r2, f.n, c.other_axes
FROM v_fit f
LEFT JOIN (SELECT json_remove(axes, '$.seq_len') AS fixed, nullif(json_remove(identity, '$.d_model', '$.seq_len'), '{}') AS other_axes, min(ordinal) AS ordinal
           FROM v_case WHERE run_id = :run GROUP BY 1) c ON c.fixed = f.fixed
WHERE f.run_id = :run
ORDER BY variant = 'vanilla' DESC, variant = 'fused' DESC, variant, min(ordinal) OVER (PARTITION BY other_axes), d_model, metric;

-- What the interval of each seq_len says: 1 faster than vanilla, -1 slower, 0 not told apart, NULL: there is none.
-- view: attention_told
SELECT run_id, ordinal, variant, device, d_model, other_axes, seq_len, 1 / total_speedup AS ratio,
       CASE in_words(total_speedup_low, total_speedup_high) WHEN 'faster' THEN 1 WHEN 'slower' THEN -1 WHEN 'not told apart' THEN 0 END AS told,
       json_remove(axes, '$.seq_len') AS fixed
FROM attention_pair
WHERE variant <> 'vanilla' AND total_speedup IS NOT NULL;

-- A crossover is between the last seq_len that is slower and the first from which on all are faster.
-- view: attention_crossover
SELECT run_id, variant, device, d_model, other_axes, fixed, min(ordinal) AS ordinal, min(seq_len) AS shortest, max(seq_len) AS longest,
       count(told) = count(*) AS known, max(seq_len) FILTER (WHERE told = -1) AS slower_up_to, min(seq_len) FILTER (WHERE faster_on) AS faster_from
FROM (SELECT *, min(coalesce(told, 0)) OVER (PARTITION BY run_id, variant, device, fixed ORDER BY seq_len
                                             ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) = 1 AS faster_on
      FROM attention_told)
GROUP BY run_id, variant, device, fixed;

-- view: attention_crossed
SELECT run_id, variant, device, fixed, seq_len, ratio, lag(seq_len) OVER w AS shorter, lag(ratio) OVER w AS shorter_ratio,
       max(ratio) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS worst_from_here
FROM attention_told
WINDOW w AS (PARTITION BY run_id, variant, device, fixed ORDER BY seq_len);

-- table: crossover
-- title: Crossover: the seq_len at which forward + backward becomes faster than vanilla
-- column: variant | Variant | text
-- column: d_model
-- column: crossover_seq_len | Crossover seq_len | | 0
-- column: crossover_low | Between | | 0 interval
-- column: verdict | In words | text
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Crossover: interpolated on logs, between the last seq_len that is slower and the first from which on all are faster (Between).'
--   FROM attention_crossover WHERE run_id = :run AND known AND slower_up_to < faster_from LIMIT 1
SELECT c.variant, c.d_model,
       exp(ln(f.shorter) + (ln(f.seq_len) - ln(f.shorter)) * ln(f.shorter_ratio) / (ln(f.shorter_ratio) - ln(f.ratio))) AS crossover_seq_len,
       CASE WHEN f.seq_len IS NOT NULL THEN c.slower_up_to END AS crossover_low,
       CASE WHEN f.seq_len IS NOT NULL THEN c.faster_from END AS crossover_high,
       CASE WHEN NOT c.known THEN 'not known: an interval needs three processes (--invocations 3)'
            WHEN c.faster_from = c.shortest THEN 'faster at every measured seq_len, from ' || c.shortest
            WHEN c.faster_from IS NULL AND c.slower_up_to = c.longest THEN 'slower at the longest measured seq_len, ' || c.longest
            WHEN c.faster_from IS NULL THEN 'not told apart at the longest measured seq_len, ' || c.longest
            WHEN c.slower_up_to IS NULL THEN 'faster from ' || c.faster_from || ' on, not told apart at shorter ones'
            ELSE 'slower up to ' || c.slower_up_to || ', faster from ' || c.faster_from || ' on' END AS verdict,
       c.other_axes
FROM attention_crossover c
LEFT JOIN attention_crossed f ON f.run_id = c.run_id AND f.variant = c.variant AND f.device = c.device AND f.fixed = c.fixed
     AND f.worst_from_here < 1 AND f.shorter_ratio >= 1 AND c.known AND c.slower_up_to < c.faster_from
WHERE c.run_id = :run
ORDER BY c.variant, min(c.ordinal) OVER (PARTITION BY c.other_axes), c.d_model;

-- Charts. Time and memory over seq_len, of each pass; a case without memory for it stands as OOM.

-- view: attention_apart
SELECT c.*, iif(o.n > 1, coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(c.other_axes)), ''), '') AS apart
FROM attention_case c JOIN (SELECT run_id, count(DISTINCT coalesce(other_axes, '')) AS n FROM attention_case GROUP BY run_id) o ON o.run_id = c.run_id;

-- view: attention_drawn
SELECT c.*, q.metric, q.place, iif(d.n > 1, printf('%s, d_model %d', q.what, c.d_model), q.what) || c.apart AS drawing,
       CASE q.place WHEN 1 THEN c.forward_ns ELSE c.backward_ns END AS time_ns,
       CASE q.place WHEN 1 THEN c.forward_ci_low_ns ELSE c.backward_ci_low_ns END AS low_ns,
       CASE q.place WHEN 1 THEN c.forward_ci_high_ns ELSE c.backward_ci_high_ns END AS high_ns
FROM attention_apart c
JOIN (SELECT run_id, count(DISTINCT d_model) AS n FROM attention_case GROUP BY run_id) d ON d.run_id = c.run_id
JOIN (SELECT 1 AS place, 'Forward' AS what, 'forward_ns' AS metric UNION ALL SELECT 2, 'Backward', 'backward_ns') q
WHERE c.status <> 'skipped';

-- view: attention_power
SELECT run_id, metric, CASE metric WHEN 'forward_ns' THEN 'The time of forward' WHEN 'backward_ns' THEN 'The time of backward' WHEN 'peak_bytes' THEN 'The peak memory' ELSE 'The memory before backward' END
       || ' grows with seq_len to the power of ' || group_concat(printf('%.2f (%s%s%s)', slope, variant, iif(n > 1, ', d_model ' || d_model, ''), iif(slope_low IS NULL, '', printf(': %.2f to %.2f', slope_low, slope_high))), ', ') || '.' AS sentence
FROM (SELECT run_id, metric, slope, slope_low, slope_high, variant, fixed ->> 'd_model' AS d_model, count(*) OVER (PARTITION BY run_id, metric, variant) AS n,
             row_number() OVER (PARTITION BY run_id, metric ORDER BY variant, fixed ->> 'd_model') AS place FROM v_fit WHERE kind = 'power')
WHERE place <= 12 GROUP BY run_id, metric;

-- chart: time
-- title: Time over sequence length, with fitted powers
-- mark: point
-- x: seq_len log2
-- y: time_ns log
-- interval: low_ns high_ns
-- color: variant
-- facet: drawing
-- fit: fitted_ns
-- label: missing
-- column: seq_len | Sequence length
-- column: time_ns | Time (ms) | ms | 3
-- column: fitted_ns | Fitted (ms) | ms | 3
-- column: low_ns | From (ms) | ms | 3
-- column: high_ns | To (ms) | ms | 3
-- column: variant | Variant | text
-- column: drawing | Pass | text
-- column: missing | Not measured | text
-- note: SELECT sentence FROM attention_power WHERE run_id = :run AND metric IN ('forward_ns', 'backward_ns') ORDER BY metric DESC
SELECT d.seq_len, d.time_ns, d.low_ns, d.high_ns, exp(f.intercept) * pow(d.seq_len, f.slope) AS fitted_ns, d.variant, d.drawing, iif(d.status = 'OK', NULL, d.status) AS missing
FROM attention_drawn d LEFT JOIN v_fit f ON f.run_id = d.run_id AND f.kind = 'power' AND f.metric = d.metric AND f.variant = d.variant AND f.device = d.device
     AND f.fixed = json_remove(d.axes, '$.seq_len')
WHERE d.run_id = :run AND (d.time_ns IS NOT NULL OR d.status <> 'OK') ORDER BY d.other_axes, d.d_model, d.place, d.ordinal;

-- chart: memory
-- title: Memory over sequence length, with fitted powers
-- mark: line
-- x: seq_len log2
-- y: bytes log
-- color: variant
-- facet: drawing
-- fit: fitted_bytes
-- label: missing
-- column: seq_len | Sequence length
-- column: bytes | Memory (GB) | bytes>GB | 4
-- column: fitted_bytes | Fitted (GB) | bytes>GB | 4
-- column: variant | Variant | text
-- column: drawing | Of | text
-- column: missing | Not measured | text
-- note: SELECT sentence FROM attention_power WHERE run_id = :run AND metric IN ('peak_bytes', 'before_backward_bytes') ORDER BY metric DESC
SELECT d.seq_len, iif(d.place = 1, d.peak_bytes, d.before_backward_bytes) AS bytes, exp(f.intercept) * pow(d.seq_len, f.slope) AS fitted_bytes, d.variant,
       replace(replace(d.drawing, 'Forward', 'Peak'), 'Backward', 'Before backward') AS drawing, iif(d.status = 'OK', NULL, d.status) AS missing
FROM attention_drawn d LEFT JOIN v_fit f ON f.run_id = d.run_id AND f.kind = 'power' AND f.metric = iif(d.place = 1, 'peak_bytes', 'before_backward_bytes')
     AND f.variant = d.variant AND f.device = d.device AND f.fixed = json_remove(d.axes, '$.seq_len')
WHERE d.run_id = :run AND (d.peak_bytes IS NOT NULL OR d.status <> 'OK') ORDER BY d.other_axes, d.d_model, d.place, d.ordinal;

-- chart: heat
-- title: Time of forward and backward together
-- mark: cells
-- x: seq_len
-- y: d_model
-- color: total_ns log
-- facet: variant
-- label: text
-- column: seq_len | Sequence length
-- column: d_model | d_model
-- column: total_ns | Time (ms) | ms | 3
-- column: variant | Variant | text
-- column: text | Text | text
SELECT seq_len, d_model, total_ns, variant || apart AS variant, iif(total_ns IS NULL, status, printf('%.3g', total_ns / 1e6)) AS text
FROM attention_apart WHERE run_id = :run AND status <> 'skipped' AND (total_ns IS NOT NULL OR status <> 'OK')
ORDER BY min(ordinal) OVER (PARTITION BY variant), apart, d_model DESC, seq_len;

-- chart: speedup
-- title: Speed-up against vanilla, forward and backward together
-- mark: cells
-- x: seq_len
-- y: d_model
-- color: total_speedup log
-- facet: variant
-- label: text
-- guide: 1
-- column: seq_len | Sequence length
-- column: d_model | d_model
-- column: total_speedup | Speed-up | x | 2
-- column: variant | Variant | text
-- column: text | Text | text
-- note: SELECT 'A speed-up whose interval contains 1, or is missing, has a question mark.' FROM attention_pair WHERE run_id = :run AND variant <> 'vanilla'
--   AND total_speedup IS NOT NULL AND coalesce(in_words(total_speedup_low, total_speedup_high), 'not told apart') = 'not told apart' LIMIT 1
SELECT p.seq_len, p.d_model, p.total_speedup, p.variant || a.apart AS variant,
       CASE WHEN p.total_speedup IS NULL THEN iif(p.status = 'OK', 'no vanilla', p.status)
            ELSE printf('%.2f', p.total_speedup) || iif(coalesce(in_words(p.total_speedup_low, p.total_speedup_high), 'not told apart') = 'not told apart', ' ?', '') END AS text
FROM attention_pair p JOIN attention_apart a USING (case_id)
WHERE p.run_id = :run AND p.variant <> 'vanilla' AND p.status <> 'skipped'
  AND EXISTS (SELECT 1 FROM attention_case v WHERE v.run_id = :run AND v.variant = 'vanilla')
ORDER BY min(a.ordinal) OVER (PARTITION BY p.variant), a.apart, p.d_model DESC, p.seq_len;

-- chart: change
-- title: From vanilla to each variant, forward and backward together
-- mark: range
-- x: total_ns log
-- y: name
-- color: variant
-- column: total_ns | Time (ms) | ms | 3
-- column: name | Case | text
-- column: variant | Variant | text
SELECT total_ns, printf('d_model %d, seq_len %d', d_model, seq_len) || apart AS name, variant
FROM attention_apart WHERE run_id = :run AND total_ns IS NOT NULL ORDER BY other_axes, d_model, seq_len, ordinal LIMIT 200;

-- Findings, in order of worth. Of each variant the largest case that vanilla has, too.

-- finding: speedup
SELECT speedup_text(variant, 'vanilla', total_speedup, total_speedup_low, total_speedup_high) || printf(' at d_model %d, seq_len %d', d_model, seq_len)
       || CASE WHEN memory_saved >= 0.005 THEN printf(', with %.0f %% less memory', 100 * memory_saved)
               WHEN memory_saved <= -0.005 THEN printf(', with %.0f %% more memory', -100 * memory_saved) ELSE '' END || '.' AS sentence
FROM (SELECT *, row_number() OVER (PARTITION BY variant ORDER BY d_model DESC, seq_len DESC, ordinal) AS place FROM attention_pair
      WHERE run_id = :run AND variant <> 'vanilla' AND total_speedup IS NOT NULL)
WHERE place = 1 ORDER BY coalesce(in_words(total_speedup_low, total_speedup_high), '') IN ('faster', 'slower') DESC, total_speedup DESC LIMIT 3;

-- finding: crossover
SELECT printf('%s becomes faster than vanilla between seq_len %d and %d (d_model %d).', variant, slower_up_to, faster_from, d_model) AS sentence
FROM attention_crossover WHERE run_id = :run AND known AND slower_up_to < faster_from ORDER BY d_model DESC, ordinal LIMIT 2;

-- finding: memory
SELECT printf('%s did not fit into memory in %d of %s, from seq_len %d on.', variant, sum(status = 'OOM'), plural(count(*), 'case'),
              min(seq_len) FILTER (WHERE status = 'OOM')) AS sentence
FROM attention_case WHERE run_id = :run AND status <> 'skipped' GROUP BY variant HAVING sum(status = 'OOM') > 0 ORDER BY min(ordinal) LIMIT 2;

-- Exponents of the largest d_model, vanilla first; not those that are known to less than a half.
-- finding: growth
SELECT CASE metric WHEN 'forward_ns' THEN 'The time of forward' ELSE 'The peak memory' END || ' grows with '
       || group_concat(printf('seq_len^%.2f (%.2f to %.2f) in %s', slope, slope_low, slope_high, variant), ', ') || printf(', at d_model %d.', max(d_model)) AS sentence
FROM (SELECT *, fixed ->> 'd_model' AS d_model, row_number() OVER (PARTITION BY metric ORDER BY fixed ->> 'd_model' DESC, variant <> 'vanilla', variant) AS place
      FROM v_fit WHERE run_id = :run AND metric IN ('forward_ns', 'peak_bytes') AND slope_low > 0 AND slope_high - slope_low < 0.5
        AND fixed ->> 'd_model' = (SELECT max(fixed ->> 'd_model') FROM v_fit WHERE run_id = :run))
WHERE place <= 3 GROUP BY metric ORDER BY metric;
