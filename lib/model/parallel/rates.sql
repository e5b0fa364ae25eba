-- What rates.c reads of a run: a rate, its interval, where it is from.

-- query: plan_launch
SELECT launch_ns, coalesce(launch_low, launch_ns), coalesce(launch_high, launch_ns), source FROM (
  SELECT intercept AS launch_ns, intercept_low AS launch_low, intercept_high AS launch_high,
         'run ' || run_id || ': all-reduces of ' || plural(n, 'size') AS source, n, fixed
  FROM v_fit WHERE run_id = :run AND name = 'reduce_cost' AND fixed ->> 'ranks' > 1)
ORDER BY n DESC, fixed LIMIT 1;

-- query: plan_link
SELECT bus / slope, bus / coalesce(slope_high, slope), bus / coalesce(slope_low, slope), source FROM (
  SELECT 2e9 * (fixed ->> 'ranks' - 1) / (fixed ->> 'ranks') AS bus, slope, slope_low, slope_high,
         'run ' || run_id || ': busbw of all-reduces of ' || plural(n, 'size') AS source, n, fixed
  FROM v_fit WHERE run_id = :run AND name = 'reduce_cost' AND fixed ->> 'ranks' > 1)
ORDER BY n DESC, fixed LIMIT 1;

-- query: plan_step_flops
SELECT 1e9 * f.median / t.median, 1e9 * f.median / coalesce(t.ci_high, t.median), 1e9 * f.median / coalesce(t.ci_low, t.median),
       'run ' || t.run_id || ': model FLOPs of ' || t.variant || ' ' || (t.axes ->> 'dtype') || ' steps, median of ' || plural(t.n, 'sample')
FROM v_summary t JOIN v_summary f ON f.run_id = t.run_id AND f.case_id = t.case_id AND f.metric = 'model_flops'
WHERE t.run_id = :run AND t.experiment = 'mixed-precision' AND t.metric = 'step_ns' AND t.axes ->> 'mode' = 'step'
ORDER BY f.median / t.median DESC LIMIT 1;

-- query: plan_ceiling
SELECT value, iif(confirmed, 0.95, 1) * value, value,
       'ceiling of ' || device || ', ' || substr(key, 1, instr(key, '_') - 1) || iif(confirmed, '', ' (unconfirmed: no interval)') || ': a peak'
FROM v_ceiling
WHERE run_id = :run AND key IN ('fp32_flops_per_s', 'tf32_flops_per_s', 'bf16_flops_per_s')
ORDER BY value DESC LIMIT 1;
