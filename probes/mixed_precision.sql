-- Tables of mixed-precision: the models, a row of timings per case, memory, types and variants against each other, drift, rates.
-- docs/tables.md explains the directives. Two speed-ups are told apart: of time (1 - t / t0) and of throughput (t0 / t - 1).

-- view: precision_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.device, c.axes, c.axes ->> 'dtype' AS dtype, c.axes ->> 'mode' AS mode,
       CASE c.axes ->> 'mode' WHEN 'forward' THEN 1 WHEN 'forward-retained' THEN 2 WHEN 'forward+backward' THEN 3 ELSE 4 END AS mode_order,
       CASE c.axes ->> 'dtype' WHEN 'fp32' THEN 1 WHEN 'tf32' THEN 2 ELSE 3 END AS dtype_order,
       printf('%dL %dD %dH %dFF, %d x %d', c.axes ->> 'layers', c.axes ->> 'd_model', c.axes ->> 'heads', c.axes ->> 'd_ff',
              c.axes ->> 'batch', c.axes ->> 'seq_len') AS model,
       (c.axes ->> 'batch') * (c.axes ->> 'seq_len') AS tokens,
       json_remove(c.axes, '$.dtype') AS but_dtype,
       nullif(json_remove(c.identity, '$.layers', '$.d_model', '$.heads', '$.d_ff', '$.batch', '$.seq_len', '$.dtype', '$.mode'),
              '{}') AS other_axes,
       s.n, s.invocations, s.median AS step_ns, s.ci_low AS step_ci_low_ns, s.ci_high AS step_ci_high_ns,
       max(s.ci_high - s.median, s.median - s.ci_low) / s.median AS step_uncertainty,
       s.mean AS mean_ns, s.sd AS sd_ns, s.min AS min_ns, s.max AS max_ns, s.cv,
       f.median AS forward_ns, b.median AS backward_ns, o.median AS optimizer_ns, bo.median AS backward_optimizer_ns,
       p.median AS peak_bytes, a.median AS allocated_bytes, r.median AS reserved_bytes, m.median AS before_backward_bytes,
       (SELECT max(l.notes ->> '$.found.largest_batch') FROM v_slice l WHERE l.case_id = c.case_id) AS largest_batch,
       c.predicted_bytes, n.median AS parameters, mf.median AS model_flops,
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
WHERE c.experiment = 'mixed-precision';

-- table: models
-- title: Models
-- column: model | Model, batch x context | text
-- column: layers | Layers
-- column: d_model | d_model
-- column: heads | Heads
-- column: d_ff | d_ff
-- column: vocab | Vocabulary
-- column: parameters | Parameters | | 0
-- column: tokens | Tokens per step
-- column: forward_flops | Forward GFLOP | GFLOP | 1
SELECT model, axes ->> 'layers' AS layers, axes ->> 'd_model' AS d_model, axes ->> 'heads' AS heads, axes ->> 'd_ff' AS d_ff,
       axes ->> 'vocab' AS vocab, max(parameters) AS parameters, tokens,
       min(model_flops) FILTER (WHERE mode IN ('forward', 'forward-retained')) AS forward_flops
FROM precision_case WHERE run_id = :run
GROUP BY model, axes ->> 'vocab' ORDER BY min(ordinal);

-- table: steps
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
-- column: ktokens_per_s | K tokens/s | | 2 optional1
-- column: status | Status | text
-- column: step_ci_low_ns | Median from (ms) | ms | 3 machine
-- column: step_ci_high_ns | Median to (ms) | ms | 3 machine
-- column: other_axes | Other axes | json | hide
-- note: SELECT message FROM precision_case WHERE run_id = :run AND model = :each AND status <> 'OK' AND message <> ''
--   GROUP BY message ORDER BY min(ordinal)
-- note: SELECT 'No ±: it is of an interval over processes, and that takes three (--invocations 3).' FROM precision_case
--   WHERE run_id = :run AND model = :each AND step_ns IS NOT NULL AND step_ci_low_ns IS NULL LIMIT 1
-- note: SELECT 'bf16: master weights, sums, norms'' weights and the loss are fp32; products: ' || group_concat(DISTINCT value) || '.'
--   FROM v_setting WHERE run_id = :run AND key = 'bf16'
--   AND EXISTS (SELECT 1 FROM precision_case WHERE run_id = :run AND dtype = 'bf16' AND step_ns IS NOT NULL) HAVING count(*) > 0
SELECT mode, dtype, variant, n, mean_ns, sd_ns, min_ns, max_ns, step_ns, step_uncertainty, cv, tokens * 1e9 / step_ns AS tokens_per_s,
       tokens * 1e6 / step_ns AS ktokens_per_s, status, step_ci_low_ns, step_ci_high_ns, other_axes
FROM precision_case
WHERE run_id = :run AND model = :each
ORDER BY mode_order, other_axes, variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;

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
-- column: before_backward_bytes | After forward (GB) | GB | 3
-- column: peak_bytes | Peak (GB) | GB | 3
-- column: peak_gib | Peak (GiB) | bytes>GiB | 3 optional3
-- column: reserved_bytes | Reserved (GB) | GB | 3
-- column: predicted_bytes | Predicted peak (GB) | GB | 3 optional2
-- column: off | Peak to predicted | x | 3 optional1
-- column: saved | Saved by dtype (%) | % | 1
-- column: largest_batch | Largest batch
-- column: status | Status | text
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Allocated: live between steps (weights, gradients, optimizer, inputs). Predicted: by running the step without arithmetic; likewise the largest batch within '
--   || 'the limit of the device.'
--   FROM precision_case WHERE run_id = :run LIMIT 1
SELECT mode, dtype, variant, allocated_bytes, before_backward_bytes, peak_bytes, peak_bytes AS peak_gib, reserved_bytes, predicted_bytes,
       peak_bytes * 1.0 / predicted_bytes AS off, CASE WHEN dtype <> 'fp32' THEN saved END AS saved, largest_batch, status, other_axes
FROM precision_memory
WHERE run_id = :run AND model = :each
ORDER BY mode_order, other_axes, variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;

-- view: precision_pair
SELECT t.*, v.step_ns AS fp32_step_ns, v.step_ns * 1.0 / t.step_ns AS speedup, v.step_ci_low_ns * 1.0 / t.step_ci_high_ns AS speedup_low,
       v.step_ci_high_ns * 1.0 / t.step_ci_low_ns AS speedup_high, 1 - t.peak_bytes * 1.0 / v.peak_bytes AS saved, v.status AS fp32_status
FROM precision_case t
JOIN precision_case v ON v.run_id = t.run_id AND v.device = t.device AND v.variant = t.variant AND v.but_dtype = t.but_dtype
     AND v.dtype = 'fp32' AND t.dtype <> 'fp32';

-- table: precision
-- title: Types against fp32 of the same variant, {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: fp32 | fp32 (ms) | text
-- column: this | This (ms) | text
-- column: speedup | Speed-up | x | 2
-- column: speedup_low | 95 % from | x | 2
-- column: speedup_high | to | x | 2
-- column: time_saved | Time saved (%) | % | 1 optional1
-- column: throughput_gained | Throughput gained (%) | % | 1 optional2
-- column: saved | Memory saved (%) | % | 1
-- column: verdict | In words | text
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Speed-up = fp32''s time / this time; its interval is from the ends of both. Nothing is said of which is faster where it '
--   || 'holds 1. `perfkit compare --by dtype` has verdicts.' FROM precision_pair WHERE run_id = :run AND model = :each AND speedup IS NOT NULL LIMIT 1
SELECT mode, variant, dtype, CASE WHEN fp32_step_ns IS NULL THEN fp32_status ELSE printf('%.2f', fp32_step_ns / 1e6) END AS fp32,
       CASE WHEN step_ns IS NULL THEN status ELSE printf('%.2f', step_ns / 1e6) END AS this, speedup, speedup_low, speedup_high, 1 - 1 / speedup AS time_saved,
       speedup - 1 AS throughput_gained, saved,
       CASE WHEN speedup_low IS NULL THEN NULL WHEN speedup_low > 1 THEN 'faster' WHEN speedup_high < 1 THEN 'slower'
            ELSE 'not told apart' END AS verdict, other_axes
FROM precision_pair
WHERE run_id = :run AND model = :each AND status <> 'skipped'
ORDER BY mode_order, other_axes, variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;

-- view: precision_phase
SELECT run_id, case_id, variant, device, model, axes, mode, mode_order, dtype, dtype_order, other_axes, ordinal, 1 AS phase_order, 'Forward' AS phase, step_ns AS ns
FROM precision_case WHERE mode = 'forward'
UNION ALL
SELECT run_id, case_id, variant, device, model, axes, mode, mode_order, dtype, dtype_order, other_axes, ordinal, 2, 'Full training step', step_ns
FROM precision_case WHERE mode = 'step'
UNION ALL
SELECT run_id, case_id, variant, device, model, axes, mode, mode_order, dtype, dtype_order, other_axes, ordinal, 3, 'Backward + optimizer', backward_optimizer_ns
FROM precision_case WHERE mode = 'step'
UNION ALL
SELECT run_id, case_id, variant, device, model, axes, mode, mode_order, dtype, dtype_order, other_axes, ordinal, 4, 'Optimizer', optimizer_ns
FROM precision_case WHERE mode = 'step';

-- table: variants
-- title: Variants against eager, {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: phase | Phase | text
-- column: dtype | Dtype | text
-- column: eager_ns | eager (ms) | ms | 2
-- column: variant | Variant | text
-- column: ns | This (ms) | ms | 2
-- column: speedup | Speed-up | x | 2
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Backward + optimizer is measured within the step, not subtracted.' FROM precision_phase
--   WHERE run_id = :run AND model = :each AND mode = 'step' LIMIT 1
SELECT t.phase, t.dtype, v.ns AS eager_ns, t.variant, t.ns, v.ns * 1.0 / t.ns AS speedup, t.other_axes
FROM precision_phase t
JOIN precision_phase v ON v.run_id = t.run_id AND v.device = t.device AND v.axes = t.axes AND v.phase = t.phase AND v.variant = 'eager'
WHERE t.run_id = :run AND t.model = :each AND t.variant <> 'eager' AND t.ns IS NOT NULL AND v.ns IS NOT NULL
ORDER BY t.phase_order, t.other_axes, t.dtype_order, t.ordinal;

-- view: precision_found
SELECT c.run_id, c.case_id, c.ordinal, c.model, c.variant, c.device, c.dtype, c.dtype_order, c.mode, c.mode_order, c.other_axes,
       c.axes, s.notes ->> '$.found.loss' AS loss, s.notes ->> '$.found.gradient_norm' AS gradient_norm,
       s.notes -> '$.found.gradient_sketch' AS sketch
FROM precision_case c
JOIN v_slice s ON s.case_id = c.case_id AND s.pass = 'timing' AND s.notes ->> '$.found.loss' IS NOT NULL
GROUP BY c.case_id;

-- table: drift
-- title: Drift from fp32 eager, {each}
-- each: SELECT model FROM precision_found WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: loss | Loss | | 6
-- column: loss_drift | Loss off by | | 6
-- column: loss_drift_relative | Relative (%) | % | 4
-- column: gradient_norm | Gradient norm | | 4
-- column: gradient_drift | Gradient off by (%) | % | 3
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Of the first step, from the same weights and tokens. Gradient: norm of the difference to that of fp32 eager, relative to its norm, '
--   || 'estimated within about 9 % of itself from sketches.' FROM precision_found WHERE run_id = :run AND model = :each AND sketch IS NOT NULL LIMIT 1
SELECT t.mode, t.variant, t.dtype, t.loss, t.loss - v.loss AS loss_drift, (t.loss - v.loss) / v.loss AS loss_drift_relative, t.gradient_norm,
       (SELECT sqrt(sum((x.value - json_extract(v.sketch, '$[' || x.key || ']')) * (x.value - json_extract(v.sketch, '$[' || x.key || ']'))))
        FROM json_each(t.sketch) x) / v.gradient_norm AS gradient_drift, t.other_axes
FROM precision_found t
LEFT JOIN precision_found v ON v.run_id = t.run_id AND v.device = t.device AND v.model = t.model AND v.mode = t.mode AND v.other_axes IS t.other_axes
     AND v.variant = 'eager' AND v.dtype = 'fp32'
WHERE t.run_id = :run AND t.model = :each AND t.mode IN ('forward', 'step')
ORDER BY t.mode_order, t.other_axes, t.variant = 'eager' DESC, t.variant = 'compiled' DESC, t.variant, t.dtype_order;

-- Dense peaks of the data sheets, in FLOP/s; boards of one name with other clocks have others.
-- view: data_sheet
SELECT column1 AS gpu, column2 AS dtype, column3 AS flops_per_s
FROM (VALUES ('%A100%', 'fp32', 19.5e12), ('%A100%', 'tf32', 156e12), ('%A100%', 'bf16', 312e12),
             ('%H100 PCIe%', 'fp32', 51.2e12), ('%H100 PCIe%', 'tf32', 378e12), ('%H100 PCIe%', 'bf16', 756e12),
             ('%H100 80GB HBM3%', 'fp32', 66.9e12), ('%H100 80GB HBM3%', 'tf32', 494.7e12), ('%H100 80GB HBM3%', 'bf16', 989.4e12),
             ('%H200%', 'fp32', 66.9e12), ('%H200%', 'tf32', 494.7e12), ('%H200%', 'bf16', 989.4e12));

-- view: precision_rate
SELECT c.*, c.model_flops * 1e9 / c.step_ns AS rate_flops_per_s, k.value AS ceiling_flops_per_s, d.flops_per_s AS sheet_flops_per_s
FROM precision_case c
JOIN v_run r ON r.run_id = c.run_id
LEFT JOIN v_ceiling k ON k.run_id = c.run_id AND k.device = coalesce(r.settings ->> 'ceilings_of', c.device) AND k.key = c.dtype || '_flops_per_s'
LEFT JOIN (SELECT DISTINCT run_id, value FROM v_setting WHERE key = 'gpu') g ON g.run_id = c.run_id AND c.device LIKE 'cuda%'
LEFT JOIN data_sheet d ON g.value LIKE d.gpu AND d.dtype = c.dtype
WHERE c.step_ns IS NOT NULL;

-- table: rates
-- title: Model FLOPs utilisation, {each}
-- each: SELECT model FROM precision_case WHERE run_id = :run GROUP BY model ORDER BY min(ordinal)
-- column: mode | Mode | text
-- column: variant | Variant | text
-- column: dtype | Dtype | text
-- column: model_flops | Model GFLOP | GFLOP | 1
-- column: step_ns | Step (ms) | ms | 2
-- column: rate_flops_per_s | GFLOP/s | GFLOP/s | 1
-- column: ceiling_flops_per_s | Measured ceiling (GFLOP/s) | GFLOP/s | 1 optional1
-- column: of_ceiling | MFU (% of measured) | % | 1
-- column: sheet_flops_per_s | Data sheet (GFLOP/s) | GFLOP/s | 0 optional2 hide
-- column: of_sheet | MFU (% of data sheet) | % | 1 hide
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Model FLOP = 2 for each weight of a product and token, 4 d_model for each causal pair of tokens and layer; backward counts twice '
--   || 'forward, recomputation and the optimizer not.' FROM precision_rate WHERE run_id = :run AND model = :each LIMIT 1
-- note: SELECT 'No ceiling of ' || group_concat(DISTINCT dtype) || ' products has been measured on this device.' FROM precision_rate
--   WHERE run_id = :run AND model = :each AND ceiling_flops_per_s IS NULL HAVING count(*) > 0
-- note: SELECT 'Above the data sheet''s peak, which cannot be: ' || group_concat(variant || ' ' || dtype || ' ' || mode, ', ') || '.'
--   FROM precision_rate WHERE run_id = :run AND model = :each AND rate_flops_per_s > sheet_flops_per_s HAVING count(*) > 0
SELECT mode, variant, dtype, model_flops, step_ns, rate_flops_per_s, ceiling_flops_per_s, rate_flops_per_s / ceiling_flops_per_s AS of_ceiling,
       sheet_flops_per_s, rate_flops_per_s / sheet_flops_per_s AS of_sheet, other_axes
FROM precision_rate
WHERE run_id = :run AND model = :each
ORDER BY mode_order, other_axes, variant = 'eager' DESC, variant = 'compiled' DESC, variant, dtype_order;
