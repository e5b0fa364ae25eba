-- Templates of the tables of own experiments (tables.c): pieces of sections, in which names in braces are replaced by names of the
-- descriptor. A piece ends at the next one. {metric} is the first time and {base} its name without _ns; {yardstick} is a variant, {rate} the key of the ceiling of products.

-- piece: views
-- view: own_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.device, c.axes, c.status, c.message, s.median, s.ci_low, s.ci_high,
       s.uncertainty, w.flops, w.bytes, l.level AS lives_in, l.bytes_per_s AS limit_bytes_per_s, k.value AS limit_flops_per_s,
       (SELECT group_concat(j.key || ' ' || CASE j.type WHEN 'true' THEN 'on' WHEN 'false' THEN 'off' ELSE j.atom END, ',') FROM json_each(c.axes) j) AS setting
FROM v_case c JOIN v_run r ON r.run_id = c.run_id
LEFT JOIN v_summary s ON s.case_id = c.case_id AND s.metric = '{metric}'
LEFT JOIN v_work w ON w.case_id = c.case_id AND w.metric = '{metric}'
LEFT JOIN v_case_level l ON l.run_id = c.run_id AND l.case_id = c.case_id
LEFT JOIN v_ceiling k ON k.run_id = c.run_id AND k.device = coalesce(r.settings ->> 'ceilings_of', c.device) AND k.key = {rate};
-- view: own_setting
SELECT run_id, setting, differing(setting, group_concat(setting, char(10)) OVER (PARTITION BY run_id)) AS differs
FROM (SELECT DISTINCT run_id, setting FROM own_case);
-- view: own_pair
SELECT t.*, d.differs, y.median / t.median AS speedup, p.ci_low / t.ci_high AS speedup_low, p.ci_high / t.ci_low AS speedup_high
FROM own_case t LEFT JOIN own_setting d ON d.run_id = t.run_id AND d.setting IS t.setting
LEFT JOIN own_case y ON y.run_id = t.run_id AND y.device = t.device AND y.axes = t.axes AND y.variant = '{yardstick}'
LEFT JOIN own_case p ON p.case_id = y.case_id AND t.variant <> y.variant;

-- piece: findings
-- finding: speedup
SELECT speedup_text(variant, '{yardstick}', speedup, speedup_low, speedup_high) || coalesce(differs, '') || '.' AS sentence
FROM (SELECT *, row_number() OVER (PARTITION BY variant ORDER BY ordinal DESC) AS place FROM own_pair
      WHERE run_id = :run AND variant <> '{yardstick}' AND speedup IS NOT NULL)
WHERE place = 1 ORDER BY coalesce(in_words(speedup_low, speedup_high), '') IN ('faster', 'slower') DESC, speedup DESC LIMIT 3;
-- finding: fastest
SELECT printf('%s is the fastest of %s at %d of %d settings.', variant, plural(variants, 'variant'), count(*), settings) AS sentence
FROM (SELECT *, lead(ci_low) OVER (PARTITION BY device, axes ORDER BY median) AS next_low,
             row_number() OVER (PARTITION BY device, axes ORDER BY median) AS place, count(*) OVER (PARTITION BY device, axes) AS variants
      FROM own_case WHERE run_id = :run AND median IS NOT NULL),
     (SELECT count(*) AS settings FROM (SELECT axes FROM own_case WHERE run_id = :run AND median IS NOT NULL GROUP BY device, axes HAVING count(*) > 2))
WHERE place = 1 AND ci_high < next_low AND variants > 2 GROUP BY variant, variants ORDER BY count(*) DESC LIMIT 2;
-- finding: range
SELECT variant || ' takes ' || time_text(least) || iif(time_text(most) <> time_text(least), ' to ' || time_text(most), '') || ' ({metric}).' AS sentence
FROM (SELECT variant, min(median) AS least, max(median) AS most FROM own_case
      WHERE run_id = :run AND median IS NOT NULL GROUP BY run_id HAVING count(DISTINCT variant) = 1);
-- finding: memory
SELECT printf('%s did not fit into memory in %d of %s.', variant, sum(status = 'oom'), plural(count(*), 'case')) AS sentence
FROM own_case WHERE run_id = :run AND status <> 'skipped' GROUP BY variant HAVING sum(status = 'oom') > 0 ORDER BY min(ordinal) LIMIT 2;

-- {columns} and {values} are of the axes, {more} and {figures} of the metrics but the first time.

-- piece: results
-- table: results
-- headline: 1
-- title: {name}
-- about: Every case: times, rates, speed-up, status
-- column: variant | Variant | text
{columns}-- column: {metric} | {base} ({unit}) | us ms s | 3
-- column: {metric}_ci_low | From ({unit}) | ns>us ms s | machine
-- column: {metric}_ci_high | To ({unit}) | ns>us ms s | machine
-- column: uncertainty | ± % | ± | 1 hide
{more}-- column: peak_bytes | Peak (MB) | MB | 3 hide
-- column: speedup | x {yardstick} | x | 2 hide
-- column: speedup_low | From | x | machine
-- column: speedup_high | To | x | machine
-- column: rate_flops_per_s | {unit} | GFLOP/s TFLOP/s | 1 hide
-- column: rate_bytes_per_s | {unit} | MB/s GB/s | 1 hide
-- column: of_floor | % floor | % | 0 hide over
-- column: above_floor | Above the floor | | machine
-- column: lives_in | Level | text | hide optional1
-- column: status | Status | state
-- column: message | Message | text | hide clip
-- note: SELECT 'x {yardstick} is the time of {yardstick} divided by this time, of medians; csv and JSON have its interval.' FROM own_pair
--   WHERE run_id = :run AND variant <> '{yardstick}' AND speedup IS NOT NULL LIMIT 1
-- note: SELECT '% floor is relative to the least time of the declared work, by the measured ceilings of the device.' FROM own_case
--   WHERE run_id = :run AND (flops IS NOT NULL OR bytes IS NOT NULL) AND limit_bytes_per_s IS NOT NULL AND median IS NOT NULL LIMIT 1
SELECT variant{values}, median AS {metric}, ci_low AS {metric}_ci_low, ci_high AS {metric}_ci_high, uncertainty{figures},
       (SELECT median FROM v_summary m WHERE m.case_id = p.case_id AND m.metric = 'peak_bytes') AS peak_bytes,
       iif(variant = '{yardstick}', NULL, speedup) AS speedup, speedup_low, speedup_high,
       flops * 1e9 / median AS rate_flops_per_s, bytes * 1e9 / median AS rate_bytes_per_s, floor / median AS of_floor,
       floor > median AS above_floor, lives_in, status, nullif(message, '') AS message
FROM (SELECT *, CASE WHEN flops IS NULL THEN bytes / limit_bytes_per_s WHEN bytes IS NULL THEN flops / limit_flops_per_s
                     ELSE max(flops / limit_flops_per_s, bytes / limit_bytes_per_s) END * 1e9 AS floor
      FROM own_pair WHERE run_id = :run) p
ORDER BY ordinal;

-- Over an axis of numbers: two sections, of which the one has rows whose scale suits the sweep: by factors, or in steps.

-- piece: lines
-- chart: {base}_over_{axis}{end}
-- title: {base} over {axis}
-- mark: line
-- x: {axis} {xscale}
-- y: {metric} {yscale}
-- interval: low_ns high_ns
-- color: variant
-- facet: others
-- column: {axis} | {heading}
-- column: {metric} | {base} ({unit}) | us ms s | 3
-- column: low_ns | From ({unit}) | us ms s | 3
-- column: high_ns | To ({unit}) | us ms s | 3
-- column: variant | Variant | text
-- column: others | Other axes | text
-- note: SELECT printf('Drawn are 6 of the %d combinations of the other axes.', count(DISTINCT json_remove(axes, '$.{axis}')))
--   FROM own_case WHERE run_id = :run AND median IS NOT NULL HAVING count(DISTINCT json_remove(axes, '$.{axis}')) > 6
WITH p AS (SELECT o.*, axes ->> '$.{axis}' AS x, json_remove(axes, '$.{axis}') AS rest,
                  (SELECT group_concat(j.key || ' ' || CASE j.type WHEN 'true' THEN 'on' WHEN 'false' THEN 'off' ELSE j.atom END, ',')
                   FROM json_each(o.axes) j WHERE j.key <> '{axis}') AS other
           FROM own_case o WHERE run_id = :run AND median IS NOT NULL AND axes ->> '$.{axis}' IS NOT NULL),
     r AS (SELECT x, x * 1.0 / lag(x) OVER (ORDER BY x) AS step FROM (SELECT DISTINCT x FROM p)),
     shape AS (SELECT count(*) AS n, coalesce(min(x) > 0 AND min(step) >= 1.5, 0) AS by_factors FROM r),
     drawn AS (SELECT rest, differing(other, group_concat(other, char(10)) OVER ()) AS others
               FROM (SELECT rest, other FROM p GROUP BY rest ORDER BY min(ordinal) LIMIT 6))
SELECT x AS "{axis}", median AS {metric}, ci_low AS low_ns, ci_high AS high_ns, variant, substr(others, 3, length(others) - 3) AS others
FROM p JOIN drawn USING (rest), shape WHERE n > 1 AND by_factors = {factors} ORDER BY ordinal;

-- Over an axis of words where no axis of numbers was swept; {flat} is that condition.

-- piece: bars
-- chart: {base}_by_{axis}
-- title: {base} by {axis}
-- mark: bar
-- x: {axis}
-- y: {metric}
-- interval: low_ns high_ns
-- color: variant
-- facet: others
-- column: {axis} | {axis} | text
-- column: {metric} | {base} ({unit}) | us ms s | 3
-- column: low_ns | From ({unit}) | us ms s | 3
-- column: high_ns | To ({unit}) | us ms s | 3
-- column: variant | Variant | text
-- column: others | Other axes | text
WITH p AS (SELECT o.*, json_remove(axes, '$.{axis}') AS rest,
                  (SELECT group_concat(j.key || ' ' || CASE j.type WHEN 'true' THEN 'on' WHEN 'false' THEN 'off' ELSE j.atom END, ',')
                   FROM json_each(o.axes) j WHERE j.key <> '{axis}') AS other
           FROM own_case o WHERE run_id = :run AND median IS NOT NULL AND {value} IS NOT NULL{flat}),
     drawn AS (SELECT rest, differing(other, group_concat(other, char(10)) OVER ()) AS others
               FROM (SELECT rest, other FROM p GROUP BY rest ORDER BY min(ordinal) LIMIT 6))
SELECT {value} AS "{axis}", median AS {metric}, ci_low AS low_ns, ci_high AS high_ns, variant, substr(others, 3, length(others) - 3) AS others
FROM p JOIN drawn USING (rest) ORDER BY ordinal;

-- piece: dtype_rate
CASE WHEN c.axes ->> 'dtype' IN ('fp32', 'float32', 'fp64', 'float64') THEN 'fp32_flops_per_s'
     WHEN c.axes ->> 'dtype' IN ('bf16', 'bfloat16') THEN 'bf16_flops_per_s' WHEN c.axes ->> 'dtype' = 'tf32' THEN 'tf32_flops_per_s' END

-- piece: one_value
 AND (SELECT count(DISTINCT axes ->> '$.{axis}') FROM own_case WHERE run_id = :run) < 2

-- piece: several_values
 AND (SELECT count(DISTINCT axes ->> '$.{axis}') FROM own_case WHERE run_id = :run) > 1

-- piece: one_point
 AND (SELECT count(DISTINCT axes) FROM own_case WHERE run_id = :run) = 1

-- piece: axis_value
,
       axes ->> '$.{axis}' AS "{axis}"

-- piece: switch_value
,
       CASE axes ->> '$.{axis}' WHEN 1 THEN 'on' WHEN 0 THEN 'off' END AS "{axis}"

-- piece: word_value
axes ->> '$.{axis}'

-- piece: word_of_switch
CASE axes ->> '$.{axis}' WHEN 1 THEN 'on' WHEN 0 THEN 'off' END

-- piece: metric_value
,
       (SELECT median FROM v_summary m WHERE m.case_id = p.case_id AND m.metric = '{other}') AS "{other}"
