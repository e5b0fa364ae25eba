-- Tables of mixed-precision: the models, a row of timings per case, memory, types and variants against each other, drift, rates.
-- docs/tables.md explains the directives. Two kinds of speed-up: of time (1 - t / t0) and of throughput (t0 / t - 1).

-- view: precision_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.device, c.axes, c.axes ->> 'dtype' AS dtype, c.axes ->> 'mode' AS mode,
       CASE c.axes ->> 'mode' WHEN 'forward' THEN 1 WHEN 'forward-retained' THEN 2 WHEN 'forward+backward' THEN 3 ELSE 4 END AS mode_order,
       CASE c.axes ->> 'dtype' WHEN 'fp32' THEN 1 WHEN 'tf32' THEN 2 ELSE 3 END AS dtype_order,
       CASE c.axes ->> 'attention' WHEN 'vanilla' THEN 2 WHEN 'fused' THEN 4 WHEN 'flash' THEN 6 WHEN 'cudnn' THEN 8 ELSE 0 END
       + (c.axes ->> 'recompute' IS 'block') AS way_order,
       printf('%dL %dD %dH %dFF, %d x %d', c.axes ->> 'layers', c.axes ->> 'd_model', c.axes ->> 'heads', c.axes ->> 'd_ff',
              c.axes ->> 'batch', c.axes ->> 'seq_len') AS model,
       (c.axes ->> 'batch') * (c.axes ->> 'seq_len') AS tokens,
       json_remove(c.axes, '$.dtype') AS but_dtype,
       nullif(json_remove(c.identity, '$.layers', '$.d_model', '$.heads', '$.d_ff', '$.batch', '$.seq_len', '$.dtype', '$.mode'),
              '{}') AS other_axes,
       CASE WHEN s.median < 5000 THEN printf('%.4f', s.median / 1e6) WHEN s.median IS NOT NULL THEN printf('%.2f', s.median / 1e6) END AS shown, -- in ms
       s.n, s.invocations, s.median AS step_ns, s.ci_low AS step_ci_low_ns, s.ci_high AS step_ci_high_ns,
       s.uncertainty AS step_uncertainty,
       s.mean AS mean_ns, s.sd AS sd_ns, s.min AS min_ns, s.max AS max_ns, s.cv,
       f.median AS forward_ns, b.median AS backward_ns, o.median AS optimizer_ns, bo.median AS backward_optimizer_ns,
       p.median AS peak_bytes, a.median AS allocated_bytes, r.median AS reserved_bytes, m.median AS before_backward_bytes,
       (SELECT max(l.notes ->> '$.largest.batch') FROM v_slice l WHERE l.case_id = c.case_id) AS largest_batch,
       (SELECT min(l.notes ->> '$.largest.limit_bytes') FROM v_slice l WHERE l.case_id = c.case_id) AS limit_bytes,
       (SELECT max(l.notes ->> '$.found.attention') FROM v_slice l WHERE l.case_id = c.case_id) AS attention,
       c.predicted_bytes, coalesce(n.median, pn.predicted) AS parameters, coalesce(mf.median, pf.predicted) AS model_flops,
       CASE c.status WHEN 'ok' THEN 'OK' WHEN 'oom' THEN 'OOM' ELSE c.status END AS status, c.message
FROM v_case c
LEFT JOIN v_summary s ON s.case_id = c.case_id AND s.metric = 'step_ns'
LEFT JOIN v_summary f ON f.case_id = c.case_id AND f.metric = 'forward_ns'
LEFT JOIN v_summary b ON b.case_id = c.case_id AND b.metric = 'backward_ns'
LEFT JOIN v_summary o ON o.case_id = c.case_id AND o.metric = 'optimizer_ns'
LEFT JOIN v_summary bo ON bo.case_id = c.case_id AND bo.metric = 'backward_optimizer_ns'
LEFT JOIN v_summary p ON p.case_id = c.case_id AND p.metric = 'peak_bytes'
LEFT JOIN v_summary a ON a.case_id = c.case_id AND a.metric = 'allocated_bytes'
LEFT JOIN v_summary r ON r.case_id = c.case_id AND r.metric = 'reserved_bytes'
LEFT JOIN v_summary m ON m.case_id = c.case_id AND m.metric = 'before_backward_bytes'
LEFT JOIN v_summary n ON n.case_id = c.case_id AND n.metric = 'parameters'
LEFT JOIN v_summary mf ON mf.case_id = c.case_id AND mf.metric = 'model_flops'
LEFT JOIN v_work pn ON pn.case_id = c.case_id AND pn.metric = 'parameters'
LEFT JOIN v_work pf ON pf.case_id = c.case_id AND pf.metric = 'model_flops'
WHERE c.experiment = 'mixed-precision';

-- table: models
-- title: Configuration
-- column: model | Model, batch x context | text
-- column: layers | Layers
-- column: d_model | d_model
-- column: heads | Heads
-- column: d_ff | d_ff
-- column: vocab | Vocabulary
-- column: parameters | Parameters | | 0
-- column: tokens | Tokens per step
-- column: forward_flops | Forward {unit} | GFLOP TFLOP | 1
-- note: SELECT 'fp32: full precision (FP32), weights, products and sums.' FROM precision_case
--   WHERE run_id = :run AND dtype = 'fp32' AND step_ns IS NOT NULL LIMIT 1
-- note: SELECT 'tf32: weights and sums are fp32; products use operands rounded to TF32 (11 bits).' FROM precision_case
--   WHERE run_id = :run AND dtype = 'tf32' AND step_ns IS NOT NULL LIMIT 1
-- note: SELECT 'bf16: master weights, sums, norms'' weights and the loss are fp32; products: ' || group_concat(DISTINCT value) || '.'
--   FROM v_setting WHERE run_id = :run AND key = 'bf16'
--   AND EXISTS (SELECT 1 FROM precision_case WHERE run_id = :run AND dtype = 'bf16' AND step_ns IS NOT NULL) HAVING count(*) > 0
-- note: SELECT 'attention=auto is ' || group_concat(attention || ' in ' || who, '; ') || '.' FROM (SELECT c.attention,
--     replace(group_concat(DISTINCT c.variant || CASE WHEN o.ways > 1 THEN ' ' || c.dtype ELSE '' END), ',', ', ') AS who
--     FROM precision_case c JOIN (SELECT variant, count(DISTINCT attention) AS ways FROM precision_case WHERE run_id = :run
--       AND axes ->> 'attention' = 'auto' GROUP BY variant) o ON o.variant = c.variant WHERE c.run_id = :run AND c.attention IS NOT NULL AND c.axes ->> 'attention' = 'auto'
--     GROUP BY c.attention ORDER BY min(c.ordinal)) HAVING count(*)
SELECT model, axes ->> 'layers' AS layers, axes ->> 'd_model' AS d_model, axes ->> 'heads' AS heads, axes ->> 'd_ff' AS d_ff,
       axes ->> 'vocab' AS vocab, max(parameters) AS parameters, tokens,
       min(model_flops / CASE WHEN mode IN ('forward', 'forward-retained') THEN 1 ELSE 3 END) AS forward_flops
FROM precision_case WHERE run_id = :run
GROUP BY model, axes ->> 'vocab' ORDER BY min(ordinal);

-- table: steps
-- headline: 1
-- about: Time of each mode, type and variant
-- title: {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: dtype | Dtype | text
-- column: variant | Variant | text
-- column: n | Iterations | | 0 optional2
-- column: mean_ns | Mean (ms) | ms | 2
-- column: sd_ns | Std (ms) | ms | 2
-- column: min_ns | Min (ms) | ms | 2 optional3
-- column: max_ns | Max (ms) | ms | 2 optional3
-- column: step_ns | Median (ms) | ms | 2
-- column: step_uncertainty | ± % | ± | 1 optional4
-- column: cv | CV (%) | % | 2
-- column: tokens_per_s | Tokens/s | | 0
-- column: tokens_per_s_ci_low | 95 % interval | | 0 interval
-- column: ktokens_per_s | K tokens/s | | 2 optional1
-- column: status | Status | state
-- column: step_ci_low_ns | Median from (ms) | ms | 3 machine
-- column: step_ci_high_ns | Median to (ms) | ms | 3 machine
-- column: other_axes | Other axes | json | hide
-- note: SELECT CASE WHEN status = 'OOM' THEN group_concat(mode || ' ' || dtype || ' ' || variant
--   || coalesce((SELECT ' ' || group_concat(key || '=' || value, ' ') FROM json_each(other_axes)), ''), ', ') || ': ' ELSE '' END
--   || message FROM precision_case WHERE run_id = :run AND model = :each AND status <> 'OK' AND message <> ''
--   GROUP BY message ORDER BY min(ordinal)
-- note: SELECT '± is that of the median time; tokens/s = tokens of a step / median time; its interval follows from the ends of that of the time.' FROM precision_case
--   WHERE run_id = :run AND model = :each AND step_ci_low_ns IS NOT NULL LIMIT 1
-- note: SELECT note FROM v_interval_note WHERE run_id = :run AND experiment = 'mixed-precision'
-- note: SELECT 'Each shape of a product uses the library that was faster when both were tried, once per run: '
--   || group_concat(shapes || ' by ' || library, ', ') || '.'
--   FROM (SELECT value AS library, count(DISTINCT key) AS shapes FROM v_setting WHERE run_id = :run AND key GLOB 'choice:gemm openblas *'
--         GROUP BY value ORDER BY value) HAVING count(*) > 0
SELECT mode, dtype, variant, n, mean_ns, sd_ns, min_ns, max_ns, step_ns, step_uncertainty, cv, tokens * 1e9 / step_ns AS tokens_per_s,
       tokens * 1e9 / step_ci_high_ns AS tokens_per_s_ci_low, tokens * 1e9 / step_ci_low_ns AS tokens_per_s_ci_high, tokens * 1e6 / step_ns AS ktokens_per_s, status, step_ci_low_ns, step_ci_high_ns, other_axes
FROM precision_case
WHERE run_id = :run AND model = :each
ORDER BY mode_order, way_order, min(ordinal) OVER (PARTITION BY other_axes), variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;

-- view: precision_memory
SELECT t.*, v.peak_bytes AS fp32_peak_bytes, 1 - t.peak_bytes / v.peak_bytes AS saved
FROM precision_case t
LEFT JOIN precision_case v ON v.run_id = t.run_id AND v.device = t.device AND v.variant = t.variant AND v.but_dtype = t.but_dtype
     AND v.dtype = 'fp32';

-- table: memory
-- title: Memory, {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: dtype | Dtype | text
-- column: variant | Variant | text
-- column: allocated_bytes | Allocated (GB) | GB | 3
-- column: allocated_gib | Allocated (GiB) | bytes>GiB | 3 optional3
-- column: before_backward_bytes | After forward (GB) | GB | 3
-- column: peak_bytes | Peak (GB) | GB | 3
-- column: peak_gib | Peak (GiB) | bytes>GiB | 3 optional5
-- column: reserved_bytes | Reserved (GB) | GB | 3
-- column: reserved_gib | Reserved (GiB) | bytes>GiB | 3 optional4
-- column: predicted_bytes | Predicted peak (GB) | GB | 3 optional2
-- column: off | Peak to predicted | x | 3 optional1
-- column: saved | Saved by dtype (%) | % | 1
-- column: largest_batch | Largest batch
-- column: status | Status | state
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Allocated: in use between steps (weights, gradients, optimizer, inputs). Predicted: from running the step without arithmetic, as is the largest batch within '
--   || 'the limit of the device' || coalesce(', ' || (SELECT group_concat(DISTINCT CASE WHEN limit_bytes < 1073741824 THEN printf('%.1f MiB', limit_bytes / 1048576.0)
--        ELSE printf('%.1f GiB', limit_bytes / 1073741824.0) END) FROM precision_case WHERE run_id = :run AND model = :each AND limit_bytes IS NOT NULL), '')
--   || '. GB = 10^9 bytes, GiB = 2^30.' FROM precision_case WHERE run_id = :run LIMIT 1
SELECT mode, dtype, variant, allocated_bytes, allocated_bytes AS allocated_gib, before_backward_bytes, peak_bytes, peak_bytes AS peak_gib,
       reserved_bytes, reserved_bytes AS reserved_gib, predicted_bytes, peak_bytes * 1.0 / predicted_bytes AS off,
       CASE WHEN dtype <> 'fp32' THEN saved END AS saved, largest_batch, status, other_axes
FROM precision_memory
WHERE run_id = :run AND model = :each
ORDER BY mode_order, way_order, min(ordinal) OVER (PARTITION BY other_axes), variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;

-- view: precision_pair
SELECT t.*, v.step_ns AS fp32_step_ns, v.shown AS fp32_shown, v.step_ns * 1.0 / t.step_ns AS speedup, v.step_ci_low_ns * 1.0 / t.step_ci_high_ns AS speedup_low,
       v.step_ci_high_ns * 1.0 / t.step_ci_low_ns AS speedup_high, 1 - t.peak_bytes * 1.0 / v.peak_bytes AS saved, v.status AS fp32_status
FROM precision_case t
JOIN precision_case v ON v.run_id = t.run_id AND v.device = t.device AND v.variant = t.variant AND v.but_dtype = t.but_dtype
     AND v.dtype = 'fp32' AND t.dtype <> 'fp32';

-- table: precision
-- title: Types compared with fp32 of the same variant, {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: fp32 | fp32 (ms)
-- column: this | This (ms)
-- column: speedup | Speed-up | x | 2
-- column: speedup_low | 95 % interval | x | 2 interval
-- column: time_saved | Time saved (%) | % | 1 optional1
-- column: throughput_gained | Throughput gained (%) | % | 1 optional2
-- column: saved | Memory saved (%) | % | 1
-- column: verdict | In words | state
-- column: other_axes | Other axes | json | hide
-- note: SELECT speedup_note('fp32', count(speedup_low) < count(speedup), 'dtype') FROM precision_pair WHERE run_id = :run AND model = :each AND speedup IS NOT NULL
--   HAVING count(*) > 0
SELECT mode, variant, dtype, coalesce(fp32_shown, fp32_status) AS fp32, coalesce(shown, status) AS this, speedup, speedup_low, speedup_high, 1 - 1 / speedup AS time_saved,
       speedup - 1 AS throughput_gained, saved,
       in_words(speedup_low, speedup_high) AS verdict, other_axes
FROM precision_pair
WHERE run_id = :run AND model = :each AND status <> 'skipped'
ORDER BY mode_order, way_order, min(ordinal) OVER (PARTITION BY other_axes), variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;

-- A row per case and shown part of it; whole: the part is all that the mode does, so a case without times has that row alone.
-- view: precision_phase
SELECT c.run_id, c.case_id, c.variant, c.device, c.model, c.axes, c.mode, c.dtype, c.dtype_order, c.way_order, c.other_axes, c.ordinal, p.phase_order, p.phase,
       p.metric = 'step_ns' AS whole, s.median AS ns, s.ci_low AS ci_low_ns, s.ci_high AS ci_high_ns, c.status,
       CASE WHEN s.median < 5000 THEN printf('%.4f', s.median / 1e6) WHEN s.median IS NOT NULL THEN printf('%.2f', s.median / 1e6) END AS shown
FROM (SELECT 'forward' AS mode, 1 AS phase_order, 'Forward' AS phase, 'step_ns' AS metric
      UNION ALL SELECT 'forward-retained', 2, 'Forward, retained', 'step_ns'
      UNION ALL SELECT 'forward+backward', 3, 'Forward + backward', 'step_ns'
      UNION ALL SELECT 'forward+backward', 4, 'Backward', 'backward_ns'
      UNION ALL SELECT 'step', 5, 'Full training step', 'step_ns'
      UNION ALL SELECT 'step', 6, 'Backward + optimizer', 'backward_optimizer_ns'
      UNION ALL SELECT 'step', 7, 'Optimizer', 'optimizer_ns') p
JOIN precision_case c ON c.mode = p.mode
LEFT JOIN v_summary s ON s.case_id = c.case_id AND s.metric = p.metric;

-- view: precision_against_eager
SELECT t.*, v.ns AS eager_ns, v.shown AS eager_shown, v.ci_low_ns AS eager_ci_low_ns, v.ci_high_ns AS eager_ci_high_ns, v.status AS eager_status,
       v.ns * 1.0 / t.ns AS speedup, v.ci_low_ns * 1.0 / t.ci_high_ns AS speedup_low, v.ci_high_ns * 1.0 / t.ci_low_ns AS speedup_high
FROM precision_phase t
JOIN precision_phase v ON v.run_id = t.run_id AND v.device = t.device AND v.axes = t.axes AND v.phase = t.phase AND v.variant = 'eager'
     AND t.variant <> 'eager'
WHERE t.whole OR t.ns IS NOT NULL OR v.ns IS NOT NULL;

-- table: variants
-- title: Variants compared with eager, {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: phase | Phase | text
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: eager | eager (ms)
-- column: this | This (ms)
-- column: eager_ns | eager_ns | | 0 machine
-- column: ns | ns | | 0 machine
-- column: speedup | Speed-up | x | 2
-- column: speedup_low | 95 % interval | x | 2 interval
-- column: verdict | In words | state
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Backward + optimizer is measured within the step, not subtracted.' FROM precision_phase
--   WHERE run_id = :run AND model = :each AND mode = 'step' LIMIT 1
-- note: SELECT speedup_note('eager', count(speedup_low) < count(speedup), 'variant')
--   FROM precision_against_eager WHERE run_id = :run AND model = :each AND speedup IS NOT NULL HAVING count(*) > 0
SELECT phase, variant, dtype, coalesce(eager_shown, nullif(eager_status, 'OK')) AS eager, coalesce(shown, nullif(status, 'OK')) AS this, eager_ns, ns, speedup, speedup_low, speedup_high,
       in_words(speedup_low, speedup_high) AS verdict,
       other_axes
FROM precision_against_eager
WHERE run_id = :run AND model = :each AND status <> 'skipped' AND eager_status <> 'skipped'
ORDER BY phase_order, way_order, min(ordinal) OVER (PARTITION BY other_axes), variant = 'compiled' DESC, variant, dtype_order, ordinal;

-- view: precision_found
SELECT c.run_id, c.case_id, c.ordinal, c.model, c.variant, c.device, c.dtype, c.dtype_order, c.mode, c.mode_order, c.way_order, c.other_axes,
       c.axes, s.notes ->> '$.found.loss' AS loss, s.notes ->> '$.found.gradient_norm' AS gradient_norm,
       s.notes -> '$.found.gradient_sketch' AS sketch
FROM precision_case c
JOIN v_slice s ON s.case_id = c.case_id AND s.pass = 'timing' AND s.notes ->> '$.found.loss' IS NOT NULL
GROUP BY c.case_id;

-- One mode tells it where several ran, since all begin with the same step: step of those with a backward pass, forward of the others.
-- view: precision_drift
SELECT *, row_number() OVER (PARTITION BY run_id, device, model, variant, dtype, other_axes, mode_order > 2
                             ORDER BY mode = 'forward' DESC, mode_order DESC) = 1 AS shown
FROM precision_found;

-- What it is held against stands beside it, where the run has it.
-- view: precision_drifted
SELECT t.*, v.loss AS from_loss, v.gradient_norm AS from_norm, v.sketch AS from_sketch
FROM precision_drift t
LEFT JOIN precision_found v ON v.run_id = t.run_id AND v.device = t.device AND v.model = t.model AND v.mode = t.mode AND v.other_axes IS t.other_axes
     AND v.variant = 'eager' AND v.dtype = 'fp32'
WHERE t.shown;

-- table: drift
-- title: Drift from fp32 eager, {each}
-- each: SELECT model FROM precision_found WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: loss | Loss | | 6
-- column: loss_drift | Loss off by | | 1 e hide
-- column: loss_drift_relative | Relative (%) | % | 1 e hide
-- column: gradient_norm | Gradient norm | | 4 hide
-- column: gradient_drift | Gradient off by (%) | % | 1 e hide
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'After the first step, from the same weights and tokens. Gradient: norm of the difference to the gradient of fp32 eager, relative to its norm, '
--   || 'estimated within about 9 % of itself from sketches.' FROM precision_drifted WHERE run_id = :run AND model = :each AND sketch IS NOT NULL AND from_sketch IS NOT NULL LIMIT 1
-- note: SELECT 'No reference for ' || group_concat(DISTINCT variant || ' ' || dtype) || ': '
--   || coalesce('fp32 eager has no result here.' || (SELECT '' FROM precision_case c WHERE c.run_id = :run AND c.model = :each
--        AND c.variant = 'eager' AND c.dtype = 'fp32' LIMIT 1),
--      'this run has no fp32 eager. Add it with'
--      || iif('fp32' IN (SELECT dtype FROM precision_case WHERE run_id = :run), '', ' -a dtype=fp32,' || group_concat(DISTINCT dtype))
--      || iif('eager' IN (SELECT variant FROM precision_case WHERE run_id = :run), '', ' --variant eager,compiled') || '.')
--   FROM precision_drifted WHERE run_id = :run AND model = :each AND from_loss IS NULL HAVING count(*)
SELECT t.mode, t.variant, t.dtype, t.loss, t.loss - t.from_loss AS loss_drift, (t.loss - t.from_loss) / t.from_loss AS loss_drift_relative, t.gradient_norm,
       (SELECT sqrt(sum((x.value - json_extract(t.from_sketch, '$[' || x.key || ']')) * (x.value - json_extract(t.from_sketch, '$[' || x.key || ']'))))
        FROM json_each(t.sketch) x) / t.from_norm AS gradient_drift, t.other_axes
FROM precision_drifted t
WHERE t.run_id = :run AND t.model = :each
ORDER BY t.mode_order, t.way_order, min(t.ordinal) OVER (PARTITION BY t.other_axes), t.variant = 'eager' DESC, t.variant = 'compiled' DESC, t.variant, t.dtype_order;

-- view: precision_rate
SELECT c.*, c.variant || ' ' || c.dtype || ' ' || c.mode
       || coalesce((SELECT ' ' || group_concat(key || '=' || value, ' ') FROM json_each(c.other_axes)), '') AS label, c.model_flops * 1e9 / c.step_ns AS rate_flops_per_s, k.value AS ceiling_flops_per_s, k.confirmed AS ceiling_confirmed, d.flops_per_s AS sheet_flops_per_s
FROM precision_case c
JOIN v_run r ON r.run_id = c.run_id
LEFT JOIN v_ceiling k ON k.run_id = c.run_id AND k.device = coalesce(r.settings ->> 'ceilings_of', c.device) AND k.key = c.dtype || '_flops_per_s'
LEFT JOIN (SELECT run_id, key, max(CAST(value AS REAL)) AS flops_per_s FROM v_setting WHERE key GLOB 'sheet_*' GROUP BY run_id, key) d
     ON d.run_id = c.run_id AND d.key = 'sheet_' || c.dtype || '_flops_per_s'
WHERE c.step_ns IS NOT NULL;

-- table: rates
-- title: Model FLOPs utilisation, {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: model_flops | Model {unit} | GFLOP TFLOP | 1
-- column: step_ns | Step (ms) | ms | 2
-- column: rate_flops_per_s | {unit} | GFLOP/s TFLOP/s | 1
-- column: ceiling_flops_per_s | Measured ceiling ({unit}) | GFLOP/s TFLOP/s | 1 optional1
-- column: of_ceiling | MFU (% of measured) | % | 1 over
-- column: above_ceiling | | json | machine
-- column: sheet_flops_per_s | Data sheet ({unit}) | GFLOP/s TFLOP/s | 1 optional2 hide
-- column: of_sheet | MFU (% of data sheet) | % | 1 hide over
-- column: above_sheet | | json | machine
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Model FLOP = 2 for each weight of a product and token, 4 d_model for each causal pair of tokens and layer; backward counts twice '
--   || 'forward, recomputation and the optimizer not.' FROM precision_rate WHERE run_id = :run AND model = :each LIMIT 1
-- note: SELECT 'No ceiling of ' || group_concat(DISTINCT dtype) || ' products has been measured on this device.' FROM precision_rate
--   WHERE run_id = :run AND model = :each AND ceiling_flops_per_s IS NULL HAVING count(*) > 0
-- note: SELECT 'Measured on a busy host: the highest ceiling of ' || group_concat(dtype, ', ') || ' was not confirmed by a second one within 5 %, so that MFU '
--   || 'may be too low. The next run measures again.'
--   FROM (SELECT DISTINCT dtype FROM precision_rate WHERE run_id = :run AND model = :each AND NOT ceiling_confirmed ORDER BY dtype_order) HAVING count(*) > 0
-- note: SELECT 'Above the measured ceiling, which is too low: ' || group_concat(label, ', ')
--   || '. Run `perfkit doctor --ceilings` on an idle machine.'
--   FROM precision_rate WHERE run_id = :run AND model = :each AND rate_flops_per_s > ceiling_flops_per_s HAVING count(*) > 0
-- note: SELECT 'Above the peak of the data sheet, which is impossible: ' || group_concat(label, ', ') || '.'
--   FROM precision_rate WHERE run_id = :run AND model = :each AND rate_flops_per_s > sheet_flops_per_s HAVING count(*) > 0
SELECT mode, variant, dtype, model_flops, step_ns, rate_flops_per_s, ceiling_flops_per_s, rate_flops_per_s / ceiling_flops_per_s AS of_ceiling,
       iif(rate_flops_per_s / ceiling_flops_per_s > 1.000000001, 'true', 'false') AS above_ceiling,
       sheet_flops_per_s, rate_flops_per_s / sheet_flops_per_s AS of_sheet,
       iif(rate_flops_per_s / sheet_flops_per_s > 1.000000001, 'true', 'false') AS above_sheet, other_axes
FROM precision_rate
WHERE run_id = :run AND model = :each
ORDER BY mode_order, way_order, min(ordinal) OVER (PARTITION BY other_axes), variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;

-- A row per case and family of operations: its part of a whole iteration, all regions and the gaps between kernels. The products of eager's
-- attention are a family of their own: 'all products' adds them to gemm.
-- view: precision_family
SELECT c.run_id, c.ordinal, c.model, c.variant, c.dtype, c.dtype_order, c.mode, c.way_order, c.other_axes, f.family, f.share
FROM precision_case c
JOIN (SELECT case_id, family, time_ns * 1.0 / (busy_ns + gap_ns) AS share FROM v_breakdown WHERE region = 'iteration'
      UNION ALL SELECT case_id, 'all products', sum(time_ns) * 1.0 / max(busy_ns + gap_ns) FROM v_breakdown
      WHERE region = 'iteration' AND family IN ('gemm', 'attention matmul') GROUP BY case_id HAVING count(*) > 1
      UNION ALL SELECT case_id, 'gaps', max(gap_ns) * 1.0 / max(busy_ns + gap_ns) FROM v_breakdown WHERE region = 'iteration' GROUP BY case_id) f
     ON f.case_id = c.case_id;

-- table: families
-- title: Share of each family of operations in a whole iteration, {each}
-- each: SELECT model FROM precision_family WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: family | Family | text
-- column: forward_share | Forward (%) | % | 1 hide
-- column: retained_share | Forward, retained (%) | % | 1 hide
-- column: backward_share | Forward + backward (%) | % | 1 hide
-- column: step_share | Full training step (%) | % | 1 hide
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Of one typical iteration of a trace pass, so there is no interval; table breakdown has the shares within each region. '
--   || 'All products: gemm and the products of attention that stores its scores.'
SELECT variant, dtype, family, max(share) FILTER (WHERE mode = 'forward') AS forward_share,
       max(share) FILTER (WHERE mode = 'forward-retained') AS retained_share,
       max(share) FILTER (WHERE mode = 'forward+backward') AS backward_share, max(share) FILTER (WHERE mode = 'step') AS step_share, other_axes
FROM precision_family
WHERE run_id = :run AND model = :each
GROUP BY variant, dtype, family, other_axes
ORDER BY max(way_order), min(min(ordinal)) OVER (PARTITION BY other_axes), variant = 'eager' DESC, variant = 'compiled' DESC, variant, max(dtype_order),
         family = 'gaps', family <> 'all products', max(share) DESC;

-- Charts: a case without memory for it stands as OOM.

-- view: precision_drawn
SELECT c.*, c.variant || iif(m.n > 1, ', ' || c.model, '') || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(c.other_axes)), '') AS drawing
FROM precision_case c JOIN (SELECT run_id, count(DISTINCT model) AS n FROM precision_case GROUP BY run_id) m USING (run_id);

-- chart: steps
-- title: Time of each mode and type
-- mark: bar
-- x: mode
-- y: step_ns
-- interval: low_ns high_ns
-- color: dtype
-- facet: variant
-- label: missing
-- column: mode | Mode | text
-- column: step_ns | Time (ms) | ms | 3
-- column: low_ns | From (ms) | ms | 3
-- column: high_ns | To (ms) | ms | 3
-- column: dtype | Dtype | text
-- column: variant | Variant | text
-- column: missing | Not measured | text
SELECT mode, step_ns, step_ci_low_ns AS low_ns, step_ci_high_ns AS high_ns, dtype, drawing AS variant, iif(status = 'OK', NULL, status) AS missing
FROM precision_drawn WHERE run_id = :run AND status <> 'skipped' AND (step_ns IS NOT NULL OR status <> 'OK')
ORDER BY min(ordinal) OVER (PARTITION BY model), min(ordinal) OVER (PARTITION BY drawing), mode_order, dtype_order;

-- chart: throughput
-- title: Thousand tokens per second of each mode and type
-- mark: bar
-- x: mode
-- y: ktokens_per_s
-- interval: low_per_s high_per_s
-- color: dtype
-- facet: variant
-- label: missing
-- column: mode | Mode | text
-- column: ktokens_per_s | K tokens/s | | 2
-- column: low_per_s | From | | 2
-- column: high_per_s | To | | 2
-- column: dtype | Dtype | text
-- column: variant | Variant | text
-- column: missing | Not measured | text
SELECT mode, tokens * 1e6 / step_ns AS ktokens_per_s, tokens * 1e6 / step_ci_high_ns AS low_per_s, tokens * 1e6 / step_ci_low_ns AS high_per_s, dtype, drawing AS variant,
       iif(status = 'OK', NULL, status) AS missing
FROM precision_drawn WHERE run_id = :run AND status <> 'skipped' AND (step_ns IS NOT NULL OR status <> 'OK')
ORDER BY min(ordinal) OVER (PARTITION BY model), min(ordinal) OVER (PARTITION BY drawing), mode_order, dtype_order;

-- chart: memory
-- title: Peak memory of each mode and type
-- mark: bar
-- x: mode
-- y: peak_bytes
-- color: dtype
-- facet: variant
-- label: missing
-- column: mode | Mode | text
-- column: peak_bytes | Peak (GB) | GB | 3
-- column: dtype | Dtype | text
-- column: variant | Variant | text
-- column: missing | Not measured | text
-- column: predicted_bytes | Predicted peak (GB) | GB | 3
SELECT mode, peak_bytes, dtype, drawing AS variant, iif(status = 'OK', NULL, status) AS missing, predicted_bytes
FROM precision_drawn WHERE run_id = :run AND status <> 'skipped' AND (peak_bytes IS NOT NULL OR status <> 'OK')
ORDER BY min(ordinal) OVER (PARTITION BY model), min(ordinal) OVER (PARTITION BY drawing), mode_order, dtype_order;

-- chart: reserved
-- title: Memory in use after a step, at its peak, and reserved
-- mark: bar
-- x: mode
-- y: bytes
-- color: kind
-- facet: drawing
-- label: missing
-- column: mode | Mode | text
-- column: bytes | Memory (GB) | GB | 3
-- column: kind | Kind | text
-- column: drawing | Variant | text
-- column: missing | Not measured | text
SELECT mode, CASE k.column1 WHEN 'allocated' THEN allocated_bytes WHEN 'peak' THEN peak_bytes ELSE reserved_bytes END AS bytes, k.column1 AS kind, dtype || ' ' || drawing AS drawing,
       iif(status = 'OK' OR k.column1 <> 'peak', NULL, status) AS missing
FROM precision_drawn JOIN (VALUES ('allocated'), ('peak'), ('reserved')) k
WHERE run_id = :run AND status <> 'skipped' AND (reserved_bytes IS NOT NULL OR status <> 'OK')
ORDER BY min(ordinal) OVER (PARTITION BY model), min(ordinal) OVER (PARTITION BY drawing, dtype), mode_order, k.column1;

-- chart: speedup
-- title: Speed-up of each type against fp32, and of each variant against eager
-- mark: range
-- x: speedup log
-- y: name
-- interval: speedup_low speedup_high
-- color: base
-- guide: 1
-- column: speedup | Speed-up | x | 2
-- column: speedup_low | From | x | 2
-- column: speedup_high | To | x | 2
-- column: name | Case | text
-- column: base | Against | text
SELECT speedup, speedup_low, speedup_high, name || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(other_axes)), '')
       || iif((SELECT count(DISTINCT model) FROM precision_case WHERE run_id = :run) > 1, ', ' || model, '') AS name, base
FROM (SELECT speedup, speedup_low, speedup_high, dtype || ' / fp32 of ' || variant || ', ' || mode AS name, other_axes, model, 'fp32' AS base, 1 AS place, mode_order AS within, ordinal
      FROM precision_pair WHERE run_id = :run
      UNION ALL SELECT speedup, speedup_low, speedup_high, variant || ' / eager in ' || dtype || ', ' || mode, other_axes, model, 'eager', 2, phase_order, ordinal
      FROM precision_against_eager WHERE run_id = :run AND whole)
WHERE speedup IS NOT NULL ORDER BY place, within, ordinal LIMIT 60;

-- chart: families
-- title: Share of each family of operations
-- mark: stack
-- x: mode
-- y: share
-- color: family
-- facet: drawing
-- column: mode | Mode | text
-- column: share | Share (%) | % | 1
-- column: family | Family | text
-- column: drawing | Variant | text
WITH ranked AS (SELECT family, row_number() OVER (ORDER BY family = 'gaps' DESC, max(share) DESC) AS place FROM precision_family WHERE run_id = :run AND family <> 'all products' GROUP BY family)
SELECT f.mode, sum(f.share) AS share, iif(r.place <= 7, f.family, 'others') AS family, f.variant || ' ' || f.dtype
       || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(f.other_axes)), '')
       || iif((SELECT count(DISTINCT model) FROM precision_case WHERE run_id = :run) > 1, ', ' || f.model, '') AS drawing
FROM precision_family f JOIN ranked r USING (family) WHERE f.run_id = :run
GROUP BY f.way_order, f.other_axes, f.model, f.variant, f.dtype, f.mode, min(r.place, 8)
ORDER BY f.way_order, min(min(f.ordinal)) OVER (PARTITION BY f.other_axes), f.variant = 'eager' DESC, f.variant, max(f.dtype_order), min(f.ordinal), min(r.place, 8) = 1, min(r.place, 8);

-- Findings, in order of worth, of the largest model and the fullest mode.

-- finding: types
SELECT speedup_text(dtype, 'fp32', speedup, speedup_low, speedup_high) || printf(' in %s, %s', variant, mode)
       || CASE WHEN saved >= 0.005 THEN printf(', with %.0f %% less memory', 100 * saved)
               WHEN saved <= -0.005 THEN printf(', with %.0f %% more memory', -100 * saved) ELSE '' END || '.' AS sentence
FROM (SELECT *, row_number() OVER (PARTITION BY variant, dtype ORDER BY mode_order DESC, parameters DESC, ordinal) AS place FROM precision_pair
      WHERE run_id = :run AND speedup IS NOT NULL)
WHERE place = 1 ORDER BY coalesce(in_words(speedup_low, speedup_high), '') IN ('faster', 'slower') DESC, speedup DESC LIMIT 2;

-- finding: variants
SELECT speedup_text(variant, 'eager', speedup, speedup_low, speedup_high) || printf(' in %s, %s.', dtype, lower(phase)) AS sentence
FROM (SELECT *, row_number() OVER (PARTITION BY variant, dtype ORDER BY phase_order DESC, ordinal) AS place FROM precision_against_eager
      WHERE run_id = :run AND whole AND speedup IS NOT NULL)
WHERE place = 1 ORDER BY coalesce(in_words(speedup_low, speedup_high), '') IN ('faster', 'slower') DESC, speedup DESC LIMIT 2;

-- finding: memory
SELECT printf('%s %s did not fit into memory in %d of %s.', variant, dtype, sum(status = 'OOM'), plural(count(*), 'case')) AS sentence
FROM precision_case WHERE run_id = :run AND status <> 'skipped' GROUP BY variant, dtype HAVING sum(status = 'OOM') > 0 ORDER BY min(ordinal) LIMIT 1;

-- finding: drift
SELECT printf('After the first step the loss of %s %s is off by %.1e %% of that of eager fp32.', variant, dtype, 100 * abs((loss - from_loss) / from_loss)) AS sentence
FROM precision_drifted WHERE run_id = :run AND from_loss <> 0 AND dtype <> 'fp32' ORDER BY mode_order DESC, abs((loss - from_loss) / from_loss) DESC LIMIT 1;

-- finding: utilisation
SELECT printf('The highest share of the measured ceiling is %.0f %%: %s, %.1f GFLOP/s.', 100 * rate_flops_per_s / ceiling_flops_per_s, label, rate_flops_per_s / 1e9) AS sentence
FROM precision_rate WHERE run_id = :run AND ceiling_confirmed AND rate_flops_per_s <= ceiling_flops_per_s ORDER BY rate_flops_per_s / ceiling_flops_per_s DESC LIMIT 1;
