-- Tables of tree-patch: the reports' (per transformation, initialisation, scaling, small against large, speed-ups, projections), and
-- what they leave out: allocations against the floor, matching, slicing real weights, the cost of a step.
-- docs/tables.md explains the directives. `config` names a tree as the reports do: layers and hidden, or the file.

-- view: tree_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.device, c.axes, c.status, c.message,
       CASE WHEN c.axes ->> 'tree' <> 'bert' THEN substr(c.axes ->> 'tree', 1, length(c.axes ->> 'tree') - length('#1a2b3c4d'))
            ELSE (c.axes ->> 'layers') || 'L-' || (c.axes ->> 'hidden') || 'H' END AS config,
       json_remove(c.axes, '$.tree', '$.model', '$.layers', '$.hidden', '$.intermediate', '$.vocab') AS apart_from_size,
       nullif(json_remove(c.identity, '$.tree', '$.model', '$.layers', '$.hidden', '$.intermediate', '$.op', '$.patches', '$.matcher',
                          '$.weights', '$.tp', '$.slicing'), '{}') AS other_axes,
       c.axes ->> 'op' AS op, c.axes ->> 'patches' AS patches, c.axes ->> 'matcher' AS matcher, c.axes ->> 'weights' AS weights,
       c.axes ->> 'tp' AS tp, c.axes ->> 'slicing' AS slicing, m.*,
       coalesce(m.match_ns, 0) + coalesce(m.transform_ns, 0) + coalesce(m.tree_op_ns, 0) AS patch_ns,
       iif(m.match_ns IS NULL, 0, m.match_low_ns) + iif(m.transform_ns IS NULL, 0, m.transform_low_ns) + m.tree_op_low_ns AS patch_low_ns,
       iif(m.match_ns IS NULL, 0, m.match_high_ns) + iif(m.transform_ns IS NULL, 0, m.transform_high_ns) + m.tree_op_high_ns AS patch_high_ns,
       f.bytes AS floor_bytes, f.bytes / coalesce(fl.bytes_per_s, k.bandwidth) * 1e9 AS floor_ns, fl.level AS floor_in,
       t.bytes AS moved_bytes, coalesce(tl.copy_bytes_per_s, k.copy_rate) AS copy_rate, tl.level AS moved_in
FROM v_case c
JOIN v_run r ON r.run_id = c.run_id
LEFT JOIN (SELECT case_id AS of_case,
                  CAST(max(median) FILTER (WHERE metric = 'leaves') AS INTEGER) AS leaves, CAST(max(median) FILTER (WHERE metric = 'nodes') AS INTEGER) AS nodes,
                  CAST(max(median) FILTER (WHERE metric = 'parameters') AS INTEGER) AS parameters,
                  CAST(max(median) FILTER (WHERE metric = 'targets') AS INTEGER) AS targets, CAST(max(median) FILTER (WHERE metric = 'objects') AS INTEGER) AS objects,
                  CAST(max(median) FILTER (WHERE metric = 'allocated_bytes') AS INTEGER) AS allocated_bytes,
                  max(median) FILTER (WHERE metric = 'compile_ns') AS compile_ns,
                  max(median) FILTER (WHERE metric = 'create_ns') AS create_ns,
                  max(ci_low) FILTER (WHERE metric = 'create_ns') AS create_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'create_ns') AS create_high_ns,
                  max(median) FILTER (WHERE metric = 'match_ns') AS match_ns,
                  max(ci_low) FILTER (WHERE metric = 'match_ns') AS match_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'match_ns') AS match_high_ns,
                  max(median) FILTER (WHERE metric = 'transform_ns') AS transform_ns,
                  max(ci_low) FILTER (WHERE metric = 'transform_ns') AS transform_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'transform_ns') AS transform_high_ns,
                  max(median) FILTER (WHERE metric = 'tree_op_ns') AS tree_op_ns,
                  max(uncertainty) FILTER (WHERE metric = 'tree_op_ns') AS tree_op_uncertainty,
                  max(ci_low) FILTER (WHERE metric = 'tree_op_ns') AS tree_op_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'tree_op_ns') AS tree_op_high_ns,
                  max(median) FILTER (WHERE metric = 'partition_ns') AS partition_ns,
                  max(median) FILTER (WHERE metric = 'unflatten_ns') AS unflatten_ns
           FROM v_summary GROUP BY case_id) m ON m.of_case = c.case_id
LEFT JOIN v_work f ON f.case_id = c.case_id AND f.metric = 'tree_op_ns'
LEFT JOIN v_work t ON t.case_id = c.case_id AND t.metric = 'transform_ns'
LEFT JOIN (SELECT run_id, device, max(value) FILTER (WHERE key = 'memory_bytes_per_s') AS bandwidth,
                  max(value) FILTER (WHERE key = 'copy_bytes_per_s') AS copy_rate
           FROM v_ceiling GROUP BY run_id, device) k ON k.run_id = c.run_id AND k.device = coalesce(r.settings ->> 'ceilings_of', c.device)
LEFT JOIN v_level fl ON fl.run_id = k.run_id AND fl.device = k.device AND f.bytes > fl.above_bytes AND (f.bytes <= fl.to_bytes OR fl.to_bytes IS NULL)
LEFT JOIN v_level tl ON tl.run_id = k.run_id AND tl.device = k.device AND t.bytes > tl.above_bytes AND (t.bytes <= tl.to_bytes OR tl.to_bytes IS NULL);

-- view: tree_structure
SELECT * FROM tree_case WHERE op = 'patch' AND weights = 'none' AND status = 'ok';

-- view: tree_model
SELECT c.run_id, c.config, max(c.leaves) AS leaves, max(c.nodes) AS nodes, c.parameters, max(c.targets) AS targets, max(c.axes ->> 'layers') AS layers,
       max(c.axes ->> 'hidden') AS hidden, max(c.axes ->> 'intermediate') AS intermediate, max(h.heads) AS heads
FROM tree_case c
LEFT JOIN (SELECT 256 AS hidden, 4 AS heads UNION ALL SELECT 512, 8 UNION ALL SELECT 768, 12 UNION ALL SELECT 5120, 40) h
     ON h.hidden = c.axes ->> 'hidden' AND c.axes ->> 'intermediate' = 4 * h.hidden
WHERE c.leaves IS NOT NULL
GROUP BY c.run_id, c.config, c.parameters;

-- What the others are relative to: the reports' small model where the run has it, else the smallest.
-- view: tree_smallest
SELECT run_id, config, parameters
FROM (SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY parameters <> 52811322, parameters) AS place FROM tree_model)
WHERE place = 1;

-- table: models
-- title: Models
-- column: config | Config | text
-- column: leaves | Leaves | | 0
-- column: nodes | Nodes | | 0 optional1
-- column: layers | Layers | | 0 hide
-- column: hidden | Hidden | | 0 hide
-- column: intermediate | Intermediate | | 0 hide optional4
-- column: heads | Heads | | 0 hide optional2
-- column: parameters | Parameters | | 0
-- column: parameters_ratio | Params × | x | 1
-- column: weights_bytes | fp32 (GB) | GB | 4
-- column: weights_binary_bytes | fp32 (GiB) | GiB | 4 optional5
-- column: narrow_bytes | bf16 (GB) | GB | 4 optional3
-- column: targets | Max. patched modules | | 0
-- note: SELECT 'Params ×: relative to ' || config || '.' FROM tree_smallest WHERE run_id = :run
-- note: SELECT 'Heads: those of the models of preset seed; the tree does not depend on them.' FROM tree_model WHERE run_id = :run AND heads > 0 LIMIT 1
-- note: SELECT 'Not measured: ' || config || ' ' || variant || coalesce(', tp ' || tp, '') || ': ' || message FROM tree_case
--   WHERE run_id = :run AND status NOT IN ('ok', 'skipped') AND message <> '' GROUP BY message ORDER BY min(ordinal)
SELECT m.config, m.leaves, m.nodes, m.layers, m.hidden, m.intermediate, m.heads, m.parameters, m.parameters * 1.0 / s.parameters AS parameters_ratio,
       m.parameters * 4 AS weights_bytes, m.parameters * 4 AS weights_binary_bytes, m.parameters * 2 AS narrow_bytes, m.targets
FROM tree_model m JOIN tree_smallest s ON s.run_id = m.run_id
WHERE m.run_id = :run
ORDER BY m.leaves, m.parameters;

-- table: transformations
-- headline: 3
-- title: Cost of one patch (all modules of the plan, divided by their number; structure only)
-- column: config | Config | text
-- column: variant | Variant | text
-- column: matcher | Matcher | text
-- column: targets | Patches | | 0 optional4
-- column: transform_per_patch_ns | Transform (µs) | us | 4
-- column: match_per_patch_ns | Match (µs) | us | 4
-- column: tree_op_per_patch_ns | Tree op (µs) | us | 4
-- column: patch_per_patch_ns | Total (µs) | us | 4
-- column: tree_op_uncertainty | Tree op ± % | ± | 1 optional2
-- column: tree_op_share | Tree op share (%) | % | 1 optional3
-- column: patch_ns | All patches (ms) | ms | 4 optional1
-- column: other_axes | Other axes | json | hide
-- note: SELECT note FROM v_interval_note WHERE run_id = :run AND experiment = 'tree-patch'
SELECT config, variant, matcher, targets, transform_ns / targets AS transform_per_patch_ns, match_ns / targets AS match_per_patch_ns,
       tree_op_ns / targets AS tree_op_per_patch_ns, patch_ns / targets AS patch_per_patch_ns, tree_op_uncertainty,
       tree_op_ns / patch_ns AS tree_op_share, patch_ns, other_axes
FROM tree_structure
WHERE run_id = :run AND patches = 0 AND tree_op_ns IS NOT NULL
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), leaves, parameters, matcher, ordinal;

-- view: tree_saved
-- Making the tree is the same work for all but built-in, so only for that one does its difference count. A peer is another program:
-- it counts no objects, and saves nothing.
SELECT t.case_id, n.create_ns, n.create_low_ns, n.create_high_ns,
       iif(k.counts, n.patch_ns - t.patch_ns + k.built_in * (n.create_ns - t.create_ns), NULL) AS saved_by,
       iif(k.counts, n.patch_low_ns - coalesce(t.patch_high_ns, 0) + k.built_in * (n.create_low_ns - t.create_high_ns), NULL) AS saved_low,
       iif(k.counts, n.patch_high_ns - coalesce(t.patch_low_ns, 0) + k.built_in * (n.create_high_ns - t.create_low_ns), NULL) AS saved_high
FROM tree_case t
JOIN (SELECT case_id, variant = 'built-in' AS built_in, variant <> 'naive' AND objects IS NOT NULL AS counts FROM tree_case) k USING (case_id)
JOIN tree_case n ON n.run_id = t.run_id AND n.device = t.device AND n.axes = t.axes AND n.variant = 'naive' AND n.tree_op_ns IS NOT NULL;

-- table: initialisation
-- title: Initialisation without and with patching
-- column: config | Config | text
-- column: variant | Variant | text
-- column: weights | Weights | text | optional3
-- column: matcher | Matcher | text
-- column: tp | tp | | 0 hide
-- column: slicing | Slicing | text | hide
-- column: create_ns | Without (ms) | ms | 4
-- column: patch_ns | Patching (ms) | ms | 4
-- column: total_ns | With (ms) | ms | 4 optional5
-- column: overhead | Overhead (%) | % | 1
-- column: overhead_low | 95 % interval | % | 1 interval
-- column: saved_ns | Saved (ms) | ms | 4 optional2
-- column: saved_low_ns | 95 % interval | ms | 4 optional2 interval
-- column: saved_100_ns | Saved per 100 (s) | s | 4 optional1
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Saved: compared with naive at the same settings. Built-in needs no patching: its overhead is that of creating the divided tree.'
-- note: SELECT 'The overhead of built-in is relative to the tree that naive creates, which was not measured.' FROM tree_case t
--   WHERE t.run_id = :run AND t.op = 'patch' AND t.patches = 0 AND t.variant = 'built-in' AND t.create_ns IS NOT NULL
--   AND NOT EXISTS (SELECT 1 FROM tree_saved n WHERE n.case_id = t.case_id) LIMIT 1
SELECT t.config, t.variant, t.weights, t.matcher, t.tp, t.slicing, t.create_ns, t.patch_ns, t.create_ns + t.patch_ns AS total_ns,
       CASE t.variant WHEN 'built-in' THEN t.create_ns / n.create_ns - 1 ELSE t.patch_ns / t.create_ns END AS overhead,
       CASE t.variant WHEN 'built-in' THEN t.create_low_ns / n.create_high_ns - 1 ELSE t.patch_low_ns / t.create_high_ns END AS overhead_low,
       CASE t.variant WHEN 'built-in' THEN t.create_high_ns / n.create_low_ns - 1 ELSE t.patch_high_ns / t.create_low_ns END AS overhead_high,
       n.saved_by AS saved_ns, n.saved_low AS saved_low_ns, n.saved_high AS saved_high_ns, 100 * n.saved_by AS saved_100_ns, t.other_axes
FROM tree_case t
LEFT JOIN tree_saved n ON n.case_id = t.case_id
WHERE t.run_id = :run AND t.op = 'patch' AND t.patches = 0 AND t.create_ns IS NOT NULL
ORDER BY min(t.ordinal) OVER (PARTITION BY t.other_axes), t.weights, t.parameters, t.config, t.matcher, t.tp, t.slicing, t.ordinal;

-- view: tree_single
-- One patch. `series` is what a line over leaves is fitted to: a variant, and where a run has several, its matcher and its plan.
SELECT t.*, t.variant || CASE WHEN k.matchers > 1 THEN ', ' || t.matcher ELSE '' END
       || CASE WHEN k.plans > 1 THEN ', plan ' || (t.axes ->> 'plan') ELSE '' END AS series
FROM tree_structure t
JOIN (SELECT run_id, count(DISTINCT matcher) AS matchers, count(DISTINCT axes ->> 'plan') AS plans FROM tree_structure
      WHERE patches = 1 GROUP BY run_id) k ON k.run_id = t.run_id
WHERE t.patches = 1 AND t.tree_op_ns IS NOT NULL;

-- view: tree_line
-- The lines of the series. Half the 95 % interval for one new measurement at x leaves: the intercept's half-width i, the slope's h and
-- the mean of x give the line's own, i^2 + h^2 x (x - 2 mean), to which comes what one measurement scatters, n (i^2 - mean^2 h^2).
SELECT f.run_id, t.series, f.variant, f.fixed, f.slope, f.intercept, f.slope_low, f.slope_high, f.r2, f.n, t.mean_leaves,
       f.slope_high - f.slope AS slope_half, f.intercept_high - f.intercept AS intercept_half
FROM v_fit f
JOIN (SELECT run_id, variant, apart_from_size, series, avg(leaves) AS mean_leaves FROM tree_single
      GROUP BY run_id, variant, apart_from_size) t
     ON t.run_id = f.run_id AND t.variant = f.variant AND t.apart_from_size = f.fixed
WHERE f.name = 'tree_op_per_leaf';

-- table: scaling
-- title: One patch in trees of growing size, {each}
-- each: SELECT series FROM tree_single WHERE run_id = :run GROUP BY series ORDER BY min(ordinal)
-- column: variant | Variant | text | machine
-- column: matcher | Matcher | text | machine
-- column: config | Config | text
-- column: leaves | Leaves | | 0
-- column: tree_op_ns | Tree op (µs) | us | 4
-- column: tree_op_uncertainty | ± % | ± | 1
-- column: tree_op_low_ns | from (µs) | us | 4 machine
-- column: tree_op_high_ns | to (µs) | us | 4 machine
-- column: per_leaf_ns | ns/leaf | ns | 2
-- column: other_axes | Other axes | json | hide
-- note: SELECT printf('time = %.3f ns * leaves %s %.1f ns, R² = %.4f; slope between %.3f and %.3f (95 %%)', slope,
--   CASE WHEN intercept < 0 THEN '-' ELSE '+' END, abs(intercept), r2, slope_low, slope_high)
--   FROM tree_line WHERE run_id = :run AND series = :each
SELECT variant, matcher, config, leaves, tree_op_ns, tree_op_uncertainty, tree_op_low_ns, tree_op_high_ns,
       tree_op_ns / leaves AS per_leaf_ns, other_axes
FROM tree_single
WHERE run_id = :run AND series = :each
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), leaves, parameters;

-- table: growth
-- title: Time by number of patches and size of the tree
-- column: config | Config | text
-- column: leaves | Leaves | | 0
-- column: targets | Patches | | 0
-- column: variant | Variant | text
-- column: matcher | Matcher | text
-- column: tree_op_ns | Tree op (µs) | us | 3
-- column: tree_op_uncertainty | ± % | ± | 1 optional2
-- column: per_patch_ns | A patch (µs) | us | 4
-- column: over_leaves_ns | A patch and leaf (ns) | ns | 4 optional1
-- column: other_axes | Other axes | json | hide
SELECT config, leaves, targets, variant, matcher, tree_op_ns, tree_op_uncertainty, tree_op_ns / targets AS per_patch_ns,
       tree_op_ns / targets / leaves AS over_leaves_ns, other_axes
FROM tree_structure t
WHERE run_id = :run AND tree_op_ns IS NOT NULL AND targets > 0
  AND config IN (SELECT config FROM tree_structure m WHERE m.run_id = :run AND m.patches > 1)
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), variant = 'built-in', (SELECT min(o.ordinal) FROM tree_structure o WHERE o.run_id = t.run_id AND o.variant = t.variant),
         matcher, leaves, parameters, targets;

-- view: tree_ranked
-- By leaves; of equally many, the model of fewer parameters counts as the smaller one.
SELECT *, row_number() OVER (PARTITION BY run_id, variant, matcher, other_axes ORDER BY leaves, parameters, ordinal) AS from_small,
       row_number() OVER (PARTITION BY run_id, variant, matcher, other_axes ORDER BY leaves DESC, parameters DESC, ordinal DESC) AS from_large
FROM tree_structure
WHERE patches = 0 AND tree_op_ns IS NOT NULL;

-- view: tree_sizes
SELECT s.run_id, s.variant, s.matcher, s.other_axes, s.config AS small, l.config AS large, s.ordinal,
       s.parameters AS small_parameters, l.parameters AS large_parameters, s.leaves AS small_leaves, l.leaves AS large_leaves, s.targets AS small_targets, l.targets AS large_targets,
       s.tree_op_ns AS small_ns, l.tree_op_ns AS large_ns, s.tree_op_low_ns AS small_low_ns, s.tree_op_high_ns AS small_high_ns,
       l.tree_op_low_ns AS large_low_ns, l.tree_op_high_ns AS large_high_ns
FROM tree_ranked s
JOIN tree_ranked l ON l.run_id = s.run_id AND l.variant = s.variant AND l.matcher IS s.matcher AND l.other_axes IS s.other_axes
WHERE s.from_small = 1 AND l.from_large = 1 AND l.leaves > s.leaves;

-- table: sizes
-- title: Small and large model
-- column: variant | Variant | text
-- column: matcher | Matcher | text
-- column: small | Small | text
-- column: large | Large | text
-- column: parameters_ratio | Params × | x | 1 optional4
-- column: leaves_ratio | Leaves × | x | 1 optional6
-- column: targets_ratio | Patches × | x | 1 optional5
-- column: small_ns | Small (µs) | us | 3 optional3
-- column: large_ns | Large (µs) | us | 3 optional3
-- column: time_ratio | Time × | x | 1
-- column: time_ratio_low | 95 % interval | x | 1 interval
-- column: small_per_patch_ns | Small, a patch (ns) | ns | 1 optional1
-- column: large_per_patch_ns | Large, a patch (ns) | ns | 1 optional1
-- column: other_axes | Other axes | json | hide
-- note: SELECT printf('A speed-up cannot be transferred between models. Batched against naive: %s on %s, %s on %s.',
--   ratio_text(n.small_ns / b.small_ns, n.small_low_ns / b.small_high_ns, n.small_high_ns / b.small_low_ns), n.small,
--   ratio_text(n.large_ns / b.large_ns, n.large_low_ns / b.large_high_ns, n.large_high_ns / b.large_low_ns), n.large)
--   FROM tree_sizes n JOIN tree_sizes b ON b.run_id = n.run_id AND b.matcher IS n.matcher AND b.other_axes IS n.other_axes
--   WHERE n.run_id = :run AND n.variant = 'naive' AND b.variant = 'batched' AND n.matcher = 'compiled' GROUP BY n.other_axes
SELECT variant, matcher, small, large, large_parameters * 1.0 / small_parameters AS parameters_ratio, large_leaves * 1.0 / small_leaves AS leaves_ratio, large_targets * 1.0 / small_targets AS targets_ratio,
       small_ns, large_ns, large_ns / small_ns AS time_ratio, large_low_ns / small_high_ns AS time_ratio_low,
       large_high_ns / small_low_ns AS time_ratio_high, small_ns / small_targets AS small_per_patch_ns,
       large_ns / large_targets AS large_per_patch_ns, other_axes
FROM tree_sizes
WHERE run_id = :run
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), matcher, ordinal;

-- view: tree_speedup
SELECT t.*, n.tree_op_ns / t.tree_op_ns AS tree_op_speedup, n.tree_op_low_ns / t.tree_op_high_ns AS tree_op_speedup_low,
       n.tree_op_high_ns / t.tree_op_low_ns AS tree_op_speedup_high, n.patch_ns / t.patch_ns AS patch_speedup,
       n.patch_low_ns / t.patch_high_ns AS patch_speedup_low, n.patch_high_ns / t.patch_low_ns AS patch_speedup_high
FROM tree_structure t
JOIN tree_structure n ON n.run_id = t.run_id AND n.device = t.device AND n.axes = t.axes AND n.variant = 'naive'
WHERE t.patches = 0 AND t.variant <> 'naive' AND t.tree_op_ns IS NOT NULL;

-- table: speedups
-- headline: 2
-- title: Speed-up against naive (naive's time / this time)
-- column: config | Config | text
-- column: variant | Variant | text
-- column: matcher | Matcher | text
-- column: tree_op_ns | Tree op (µs) | us | 3 optional2
-- column: tree_op_speedup | Tree op speed-up | x | 1
-- column: tree_op_speedup_low | 95 % interval | x | 1 interval
-- column: patch_ns | With matching (µs) | us | 3 optional1
-- column: patch_speedup | Speed-up | x | 1
-- column: patch_speedup_low | 95 % interval | x | 1 interval
-- column: verdict | In words | state
-- column: other_axes | Other axes | json | hide
-- note: SELECT speedup_note('naive', count(patch_speedup_low) < count(patch_speedup), 'variant') FROM tree_speedup WHERE run_id = :run HAVING count(*) > 0
SELECT config, variant, matcher, tree_op_ns, tree_op_speedup, tree_op_speedup_low, tree_op_speedup_high, patch_ns, patch_speedup,
       patch_speedup_low, patch_speedup_high, in_words(patch_speedup_low, patch_speedup_high) AS verdict, other_axes
FROM tree_speedup
WHERE run_id = :run
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), parameters, config, matcher, ordinal;

-- A program's own loop is its base: perfkit's is naive, a peer's the one that calls its library for each module. A peer counts no objects.
-- view: tree_program
SELECT *, CASE WHEN objects IS NOT NULL THEN 'perfkit' ELSE substr(variant, 1, instr(variant || '-', '-') - 1) END AS program,
       CASE WHEN objects IS NOT NULL THEN variant = 'naive' ELSE variant GLOB '*-tree-at' OR variant GLOB '*-tree-map' OR variant GLOB '*-naive' END AS is_loop
FROM tree_structure
WHERE patches = 0 AND tree_op_ns IS NOT NULL;

-- view: tree_own_speedup
SELECT t.*, n.variant AS loop, n.tree_op_ns AS loop_ns, n.patch_ns AS loop_patch_ns, n.patch_low_ns AS loop_patch_low_ns,
       n.patch_high_ns AS loop_patch_high_ns, n.tree_op_ns / t.tree_op_ns AS tree_op_speedup,
       n.tree_op_low_ns / t.tree_op_high_ns AS tree_op_speedup_low, n.tree_op_high_ns / t.tree_op_low_ns AS tree_op_speedup_high,
       n.patch_ns / t.patch_ns AS patch_speedup, n.patch_low_ns / t.patch_high_ns AS patch_speedup_low,
       n.patch_high_ns / t.patch_low_ns AS patch_speedup_high
FROM tree_program t
JOIN tree_program n ON n.run_id = t.run_id AND n.device = t.device AND n.axes = t.axes AND n.program = t.program AND n.is_loop
WHERE NOT t.is_loop;

-- table: programs
-- title: Batching within each program (time of a call for each module / time of this)
-- column: config | Config | text
-- column: program | Program | text
-- column: loop | Loop | text | optional1
-- column: variant | Batched | text
-- column: matcher | Matcher | text | optional2
-- column: loop_ns | Loop (ms) | ms | 4
-- column: batched_ns | Batched (ms) | ms | 4
-- column: tree_op_speedup | Tree op speed-up | x | 1
-- column: tree_op_speedup_low | 95 % interval | x | 1 interval
-- column: patch_speedup | With matching | x | 1 optional4
-- column: patch_speedup_low | 95 % interval | x | 1 optional4 interval
-- column: verdict | In words | state
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Each program against its own loop: the programs themselves are compared in the table of speed-ups against naive.'
-- note: SELECT speedup_note('the loop', count(tree_op_speedup_low) < count(tree_op_speedup), 'variant') FROM tree_own_speedup WHERE run_id = :run HAVING count(*) > 0
SELECT config, program, loop, variant, matcher, loop_ns, tree_op_ns AS batched_ns, tree_op_speedup, tree_op_speedup_low, tree_op_speedup_high,
       patch_speedup, patch_speedup_low, patch_speedup_high, in_words(tree_op_speedup_low, tree_op_speedup_high) AS verdict, other_axes
FROM tree_own_speedup
WHERE run_id = :run AND (program <> 'perfkit' OR variant = 'batched') AND EXISTS (SELECT 1 FROM tree_own_speedup WHERE run_id = :run AND program <> 'perfkit')
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), parameters, config, matcher, program = 'perfkit', program, ordinal;

-- The ways that keep the old tree and need no second application, the simplest first; of a peer all. `best` is the fastest of them.
-- view: tree_candidate
SELECT *, first_value(patch_low_ns) OVER w AS best_low_ns, first_value(patch_high_ns) OVER w AS best_high_ns,
       first_value(variant) OVER w AS best
FROM tree_own_speedup
WHERE program <> 'perfkit' OR variant IN ('naive-1pass', 'batched', 'path-copy', 'grouped')
WINDOW w AS (PARTITION BY run_id, device, axes, program ORDER BY patch_ns);

-- view: tree_recommended
SELECT *, row_number() OVER (PARTITION BY run_id, device, axes, program ORDER BY ordinal) AS place
FROM tree_candidate
WHERE patch_speedup_low > 1 AND (variant = best OR patch_low_ns <= best_high_ns);

-- table: recommendation
-- headline: 1
-- title: Recommendation: how to patch all modules of the plan
-- column: config | Config | text
-- column: program | Program | text | hide
-- column: matcher | Matcher | text
-- column: variant | Use | text
-- column: saved_ns | Saves (ms) | ms | 4
-- column: saved_low_ns | 95 % interval | ms | 4 interval
-- column: patch_speedup | Speed-up | x | 1
-- column: patch_speedup_low | 95 % interval | x | 1 interval
-- column: reason | Why | text
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Saves: per initialisation, of match, transform and tree op of the program''s own loop. Fastest: of those that keep the old tree. In-place does not, cached needs a second '
--   || 'application, and built-in other code of the model: they are in the tables above.'
SELECT c.config, nullif(c.program, 'perfkit') AS program, c.matcher, r.variant, c.loop_patch_ns - r.patch_ns AS saved_ns,
       c.loop_patch_low_ns - r.patch_high_ns AS saved_low_ns, c.loop_patch_high_ns - r.patch_low_ns AS saved_high_ns, r.patch_speedup,
       r.patch_speedup_low, r.patch_speedup_high,
       CASE WHEN max(c.patch_speedup_low) IS NULL THEN 'none: no interval (--invocations 3)'
            WHEN r.variant IS NULL THEN 'none: nothing is told apart from ' || c.loop
            WHEN r.variant = r.best AND count(*) = 1 THEN 'faster than ' || c.loop
            WHEN r.variant = r.best THEN 'fastest'
            ELSE 'simpler than ' || r.best || ', not told apart' END AS reason, c.other_axes
FROM tree_candidate c
LEFT JOIN tree_recommended r ON r.run_id = c.run_id AND r.device = c.device AND r.axes = c.axes AND r.program = c.program AND r.place = 1
WHERE c.run_id = :run
GROUP BY c.device, c.axes, c.program
ORDER BY min(min(c.ordinal)) OVER (PARTITION BY c.other_axes), max(c.parameters), c.config, c.matcher, c.program <> 'perfkit', c.program;

-- table: exponents
-- title: How the time of the tree operation grows: time ~ leaves^exponent, time ~ patches^exponent
-- about: How the time of the tree operation grows
-- column: variant | Variant | text
-- column: over | Over | text
-- column: at | At | text
-- column: exponent | Exponent | | 3
-- column: exponent_low | 95 % interval | | 3 interval
-- column: r2 | R² | | 4 optional1
-- column: n | Sizes | | 0 optional2
-- note: SELECT 'Exponents: a pass over the whole tree for each patch gives 1 in both; one traversal for all patches gives 0 in patches; copying only the paths of the targets gives 0 in '
--   || 'leaves, except for wide nodes, which are copied as a whole.'
SELECT f.variant, CASE f.name WHEN 'tree_op_leaves_exponent' THEN 'leaves' ELSE 'patches' END AS over,
       CASE f.name WHEN 'tree_op_leaves_exponent'
            THEN iif(f.fixed ->> 'patches' = 0, 'all patches', plural(f.fixed ->> 'patches', 'patch'))
            ELSE CASE WHEN f.fixed ->> 'tree' <> 'bert' THEN substr(f.fixed ->> 'tree', 1, length(f.fixed ->> 'tree') - length('#1a2b3c4d'))
                      ELSE (f.fixed ->> 'layers') || 'L-' || (f.fixed ->> 'hidden') || 'H' END END || ', ' || (f.fixed ->> 'matcher')
           || CASE f.fixed ->> 'plan' WHEN 'reports' THEN '' ELSE ', plan ' || (f.fixed ->> 'plan') END AS at,
       f.slope AS exponent, f.slope_low AS exponent_low, f.slope_high AS exponent_high, f.r2, f.n
FROM v_fit f
WHERE f.run_id = :run AND f.name IN ('tree_op_leaves_exponent', 'tree_op_patches_exponent') AND f.fixed ->> 'op' = 'patch'
  AND f.fixed ->> 'weights' = 'none' AND (f.name = 'tree_op_patches_exponent' OR f.fixed ->> 'patches' > 0)
ORDER BY over, at, (SELECT min(c.ordinal) FROM v_case c WHERE c.run_id = f.run_id AND c.variant = f.variant);

-- view: tree_asked
SELECT '12L' AS what, 202 AS leaves, 72 AS patches
UNION ALL SELECT '1000 leaves', 1000, 500
UNION ALL SELECT '100L', 1610, 600;

-- view: tree_projected
SELECT f.run_id, f.series, f.variant, q.what, q.leaves, q.patches, q.patches * (f.slope * q.leaves + f.intercept) AS projected_ns,
       q.patches * sqrt(max(0, f.intercept_half * f.intercept_half + f.slope_half * f.slope_half * q.leaves * (q.leaves - 2 * f.mean_leaves)
                               + f.n * (f.intercept_half * f.intercept_half
                                        - f.mean_leaves * f.mean_leaves * f.slope_half * f.slope_half))) AS half_ns,
       m.tree_op_ns AS measured_ns
FROM tree_line f
JOIN tree_asked q
LEFT JOIN (SELECT run_id, variant, apart_from_size, leaves, targets, min(ordinal), tree_op_ns FROM tree_structure
           WHERE patches = 0 GROUP BY run_id, variant, apart_from_size, leaves, targets) m
     ON m.run_id = f.run_id AND m.variant = f.variant AND m.leaves = q.leaves AND m.targets = q.patches
     AND m.apart_from_size = json_set(f.fixed, '$.patches', 0)
WHERE f.fixed ->> 'patches' = 1 AND f.variant IN ('naive', 'naive-1pass');

-- table: projection
-- title: Projections from one patch (patches × the line over leaves) and measured times
-- column: series | Variant | text
-- column: what | For | text
-- column: leaves | Leaves | | 0 optional1
-- column: patches | Patches | | 0 optional2
-- column: projected_ns | Extrapolated (ms) | ms | 4
-- column: projected_low_ns | from (ms) | ms | 4
-- column: projected_high_ns | to (ms) | ms | 4
-- column: measured_ns | Measured (ms) | ms | 4
-- column: ratio | Measured / extrapolated | x | 2 optional3
-- column: ratio_low | 95 % interval | x | 2 optional3 interval
-- note: SELECT 'Extrapolated from the lines of the tables "One patch in trees of growing size"; 95 % of new measurements are in the interval, '
--   || 'if the line and its scatter are right. Only variants that pass over the whole tree for each patch grow with both.'
-- note: SELECT 'Not extrapolated, because the line is below zero there: ' || group_concat(series || ' ' || what, '; ') || '.' FROM tree_projected
--   WHERE run_id = :run AND projected_ns <= 0 HAVING count(*) > 0
-- note: SELECT 'Measured outside the extrapolated interval, so the line does not hold: ' || group_concat(series || ' ' || what, '; ') || '.'
--   FROM tree_projected WHERE run_id = :run AND projected_ns > 0 AND abs(measured_ns - projected_ns) > half_ns HAVING count(*) > 0
SELECT series, what, leaves, patches, CASE WHEN projected_ns > 0 THEN projected_ns END AS projected_ns,
       CASE WHEN projected_ns > 0 THEN max(0, projected_ns - half_ns) END AS projected_low_ns,
       CASE WHEN projected_ns > 0 THEN projected_ns + half_ns END AS projected_high_ns, measured_ns,
       CASE WHEN projected_ns > 0 THEN measured_ns / projected_ns END AS ratio,
       CASE WHEN projected_ns > 0 THEN measured_ns / (projected_ns + half_ns) END AS ratio_low,
       CASE WHEN projected_ns > half_ns THEN measured_ns / (projected_ns - half_ns) END AS ratio_high
FROM tree_projected
WHERE run_id = :run
ORDER BY series, leaves;

-- table: allocation
-- title: Allocations of the tree operation, and its floor
-- column: config | Config | text
-- column: variant | Variant | text
-- column: targets | Patches | | 0
-- column: objects | Objects | | 0
-- column: allocated_bytes | Allocated (KB) | KB | 1
-- column: tree_op_ns | Tree op (µs) | us | 3
-- column: floor_bytes | Least moved (KB) | KB | 1
-- column: over_floor | × floor | x | 1 under
-- column: below_floor | | json | machine
-- column: floor_in | Floor of | text | hide optional1
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Floor: every node above a target read and written once, at the rate of the level of memory that has room for them. '
--   || 'In-place does not keep the old tree and may be below the floor: marked !.'
SELECT config, variant, targets, objects, allocated_bytes, tree_op_ns, floor_bytes, tree_op_ns / floor_ns AS over_floor,
       iif(tree_op_ns / floor_ns < 0.999999999, 'true', 'false') AS below_floor, floor_in, other_axes
FROM tree_structure
WHERE run_id = :run AND patches = 0 AND matcher = 'compiled' AND tree_op_ns IS NOT NULL
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), parameters, config, ordinal;

-- view: tree_match
-- The median over the variants, which match alike; `cached` also decides what to copy.
SELECT run_id, config, parameters, leaves, other_axes, matcher, ordinal, match_ns, match_low_ns, match_high_ns, compile_ns
FROM (SELECT *, row_number() OVER w AS place, count(*) OVER (PARTITION BY run_id, config, parameters, leaves, other_axes, matcher) AS n
      FROM tree_structure
      WHERE patches = 0 AND variant <> 'cached' AND match_ns IS NOT NULL
      WINDOW w AS (PARTITION BY run_id, config, parameters, leaves, other_axes, matcher ORDER BY match_ns))
WHERE place = (n + 1) / 2;

-- table: matching
-- title: Finding the modules
-- column: config | Config | text
-- column: leaves | Leaves | | 0
-- column: fnmatch_ns | fnmatch (µs) | us | 2
-- column: compiled_ns | compiled (µs) | us | 2
-- column: speedup | Speed-up | x | 1
-- column: speedup_low | 95 % interval | x | 1 interval
-- column: compile_ns | Compiling, once (µs) | us | 1
-- column: other_axes | Other axes | json | hide
SELECT f.config, f.leaves, f.match_ns AS fnmatch_ns, c.match_ns AS compiled_ns, f.match_ns / c.match_ns AS speedup, f.match_low_ns / c.match_high_ns AS speedup_low,
       f.match_high_ns / c.match_low_ns AS speedup_high, c.compile_ns,
       f.other_axes
FROM tree_match f
JOIN tree_match c ON c.run_id = f.run_id AND c.config = f.config AND c.parameters = f.parameters AND c.other_axes IS f.other_axes
     AND c.matcher = 'compiled'
WHERE f.run_id = :run AND f.matcher = 'fnmatch'
ORDER BY min(f.ordinal) OVER (PARTITION BY f.other_axes), f.parameters;

-- table: slicing
-- title: Slicing real weights for the first of tp devices
-- column: config | Config | text
-- column: tp | tp
-- column: slicing | Slicing | text
-- column: moved_bytes | Moved (GB) | GB | 3
-- column: transform_ns | Time (ms) | ms | 3
-- column: rate_bytes_per_s | GB/s | GB/s | 1
-- column: of_ceiling | % of copy ceiling | % | 0 over
-- column: above_ceiling | | json | machine
-- column: lives_in | Level | text | hide optional1
-- column: other_axes | Other axes | json | hide
-- note: SELECT 'Moved: bytes read and written. Ceiling: the rate of a dense copy in the level of memory that has room for what is moved (`perfkit doctor --ceilings`); ! is above it. Values are medians over the variants, whose slicing is the same.'
-- note: SELECT 'Measured on a busy host: the highest copy ceiling was not confirmed by a second one within 5 %, so that % of it may be '
--   || 'too high. The next run measures again.'
--   FROM v_ceiling k JOIN v_run r ON r.run_id = k.run_id
--   WHERE k.run_id = :run AND k.key = 'copy_bytes_per_s' AND NOT k.confirmed
--   AND k.device IN (SELECT coalesce(r.settings ->> 'ceilings_of', c.device) FROM v_case c WHERE c.run_id = :run)
SELECT config, tp, slicing, moved_bytes, transform_ns, moved_bytes * 1e9 / transform_ns AS rate_bytes_per_s,
       moved_bytes * 1e9 / transform_ns / copy_rate AS of_ceiling,
       iif(moved_bytes * 1e9 / transform_ns / copy_rate > 1.000000001, 'true', 'false') AS above_ceiling, moved_in AS lives_in, other_axes
FROM (SELECT *, row_number() OVER w AS place, count(*) OVER (PARTITION BY run_id, config, parameters, tp, slicing, other_axes) AS n
      FROM (SELECT *, max(moved_bytes) OVER (PARTITION BY run_id, config, parameters, tp, slicing, other_axes) AS all_bytes FROM tree_case
            WHERE run_id = :run AND weights = 'real' AND status = 'ok' AND transform_ns IS NOT NULL)
      WHERE moved_bytes IS all_bytes -- a case that patches one module moves less
      WINDOW w AS (PARTITION BY run_id, config, parameters, tp, slicing, other_axes ORDER BY transform_ns))
WHERE place = (n + 1) / 2
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), parameters, tp, slicing DESC;

-- table: per_step
-- title: Cost per step
-- column: config | Config | text
-- column: op | Operation | text
-- column: variant | Variant | text
-- column: partition_ns | Partition (µs) | us | 2
-- column: tree_op_ns | Combine or flatten (µs) | us | 2
-- column: unflatten_ns | Unflatten (µs) | us | 2
-- column: step_ns | A step (ms) | ms | 4
-- column: thousand_ns | 1000 steps (s) | s | 4 optional1
-- column: other_axes | Other axes | json | hide
SELECT config, op, variant, partition_ns, tree_op_ns, unflatten_ns,
       coalesce(partition_ns, 0) + tree_op_ns + coalesce(unflatten_ns, 0) AS step_ns,
       1000 * (coalesce(partition_ns, 0) + tree_op_ns + coalesce(unflatten_ns, 0)) AS thousand_ns, other_axes
FROM tree_case
WHERE run_id = :run AND op <> 'patch' AND tree_op_ns IS NOT NULL
ORDER BY op, min(ordinal) OVER (PARTITION BY other_axes), parameters, ordinal;

-- Charts. Speed-ups and shares are those of the compiled matcher where a run has it.

-- chart: growth
-- title: One patch in trees of growing size, with fitted lines
-- mark: point
-- x: leaves log
-- y: tree_op_ns log
-- interval: low_ns high_ns
-- color: variant
-- facet: matcher
-- fit: fitted_ns
-- column: leaves | Leaves
-- column: tree_op_ns | Tree op (ns) | ns | 1
-- column: low_ns | From (ns) | ns | 1
-- column: high_ns | To (ns) | ns | 1
-- column: fitted_ns | Fitted (ns) | ns | 1
-- column: variant | Variant | text
-- column: matcher | Matcher | text
-- note: SELECT 'Fitted, in ns per leaf: ' || group_concat(printf('%s %.2f (%.2f to %.2f)', series, slope, slope_low, slope_high), ', ') || '.'
--   FROM (SELECT * FROM tree_line WHERE run_id = :run ORDER BY slope DESC LIMIT 10) HAVING count(*) > 0
SELECT t.leaves, t.tree_op_ns, t.tree_op_low_ns AS low_ns, t.tree_op_high_ns AS high_ns, l.slope * t.leaves + l.intercept AS fitted_ns, t.variant,
       t.matcher || iif(t.axes ->> 'plan' = 'reports', '', ', plan ' || (t.axes ->> 'plan'))
       || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(t.other_axes)), '') AS matcher
FROM tree_single t LEFT JOIN tree_line l ON l.run_id = t.run_id AND l.series = t.series AND l.fixed = t.apart_from_size
WHERE t.run_id = :run ORDER BY t.matcher, t.variant = 'built-in', min(t.ordinal) OVER (PARTITION BY t.variant), t.leaves, t.parameters;

-- chart: speedups
-- title: Speed-up of each way to patch all modules, against naive
-- mark: bar
-- x: variant
-- y: speedup log
-- interval: speedup_low speedup_high
-- facet: config
-- label: text
-- guide: 1
-- column: variant | Variant | text
-- column: speedup | Speed-up | x | 1
-- column: speedup_low | From | x | 1
-- column: speedup_high | To | x | 1
-- column: config | Config | text
-- column: text | Text | text
-- note: SELECT 'With matching and transforming. ' || iif(count(patch_speedup_low) < count(*), 'A bar without a line has no interval: it needs three processes (--invocations 3).',
--   'The line at the end of a bar is the 95 % interval.') FROM tree_speedup WHERE run_id = :run HAVING count(*) > 0
SELECT variant, patch_speedup AS speedup, patch_speedup_low AS speedup_low, patch_speedup_high AS speedup_high,
       config || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(other_axes)), '') AS config,
       printf(iif(patch_speedup < 100, '%.2g ×', '%.0f ×'), patch_speedup) AS text
FROM tree_speedup s WHERE run_id = :run AND patch_speedup IS NOT NULL AND variant <> 'built-in'
  AND (matcher = 'compiled' OR NOT EXISTS (SELECT 1 FROM tree_speedup c WHERE c.run_id = :run AND c.matcher = 'compiled'))
ORDER BY min(ordinal) OVER (PARTITION BY other_axes), leaves, parameters, config, ordinal;

-- chart: shares
-- title: What a patch of all modules consists of
-- mark: stack
-- x: variant
-- y: share
-- color: part
-- facet: config
-- column: variant | Variant | text
-- column: share | Share (%) | % | 1
-- column: part | Part | text
-- column: config | Config | text
SELECT c.variant, p.column1 AS part, CASE p.column1 WHEN 'transform' THEN c.transform_ns WHEN 'match' THEN c.match_ns ELSE c.tree_op_ns END / c.patch_ns AS share,
       c.config || iif(c.weights = 'none', '', printf(', weights %s, tp %d', c.weights, c.tp)) || iif(c.slicing IS NULL OR c.weights = 'none', '', ', ' || c.slicing)
       || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(c.other_axes)), '') AS config
FROM tree_case c JOIN (VALUES ('tree op'), ('match'), ('transform')) p
WHERE c.run_id = :run AND c.op = 'patch' AND c.patches = 0 AND c.status = 'ok' AND c.patch_ns > 0 AND c.variant <> 'built-in'
  AND CASE p.column1 WHEN 'transform' THEN c.transform_ns WHEN 'match' THEN c.match_ns ELSE c.tree_op_ns END IS NOT NULL
  AND (c.matcher = 'compiled' OR NOT EXISTS (SELECT 1 FROM tree_case o WHERE o.run_id = :run AND o.matcher = 'compiled' AND o.patches = 0))
ORDER BY c.weights, min(c.ordinal) OVER (PARTITION BY c.other_axes), c.leaves, c.parameters, c.ordinal, p.column1 = 'match', p.column1 = 'transform';

-- chart: cost
-- title: Cost of one patch over the size of the model, of a patch of all modules
-- mark: point
-- x: leaves log
-- y: each_ns log
-- color: variant
-- facet: part
-- column: leaves | Leaves
-- column: each_ns | Each patch (ns) | ns | 1
-- column: variant | Variant | text
-- column: part | Part | text
-- note: SELECT 'The time of the plan divided by its modules; structure only.' FROM tree_structure WHERE run_id = :run AND patches = 0 LIMIT 1
SELECT c.leaves, CASE p.column1 WHEN 'Transform' THEN c.transform_ns WHEN 'Match' THEN c.match_ns WHEN 'Tree op' THEN c.tree_op_ns ELSE c.patch_ns END / c.targets AS each_ns, c.variant,
       p.column1 || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(c.other_axes)), '') AS part
FROM tree_structure c JOIN (VALUES ('Total', 1), ('Tree op', 2), ('Match', 3), ('Transform', 4)) p
WHERE c.run_id = :run AND c.patches = 0 AND c.targets > 0 AND c.variant <> 'built-in'
  AND CASE p.column1 WHEN 'Transform' THEN c.transform_ns WHEN 'Match' THEN c.match_ns WHEN 'Tree op' THEN c.tree_op_ns ELSE c.patch_ns END > 0
  AND (c.matcher = 'compiled' OR NOT EXISTS (SELECT 1 FROM tree_structure o WHERE o.run_id = :run AND o.matcher = 'compiled' AND o.patches = 0))
ORDER BY min(c.ordinal) OVER (PARTITION BY c.other_axes), p.column2, min(c.ordinal) OVER (PARTITION BY c.variant), c.leaves, c.parameters;

-- chart: patches
-- title: Time over the number of patches, with fitted powers and a line in proportion
-- mark: point
-- x: targets log
-- y: tree_op_ns log
-- interval: low_ns high_ns
-- color: variant
-- facet: config
-- fit: fitted_ns
-- column: targets | Patches
-- column: tree_op_ns | Tree op (ns) | ns | 1
-- column: low_ns | From (ns) | ns | 1
-- column: high_ns | To (ns) | ns | 1
-- column: fitted_ns | Fitted (ns) | ns | 1
-- column: variant | Variant | text
-- column: config | Config | text
-- note: SELECT 'A pass over the whole tree for each patch grows in proportion to their number, one traversal for all does not grow.'
--   WHERE EXISTS (SELECT 1 FROM tree_structure WHERE run_id = :run AND patches > 1)
WITH drawn AS (
SELECT t.targets, t.tree_op_ns, t.tree_op_low_ns AS low_ns, t.tree_op_high_ns AS high_ns, exp(f.intercept) * pow(t.targets, f.slope) AS fitted_ns, t.variant,
       t.config || ', ' || t.matcher || coalesce((SELECT ', ' || group_concat(key || ' ' || value, ', ') FROM json_each(t.other_axes)), '') AS config,
       t.matcher, min(t.ordinal) OVER (PARTITION BY t.other_axes) AS first, t.leaves, t.parameters, t.ordinal
FROM tree_structure t LEFT JOIN v_fit f ON f.run_id = t.run_id AND f.name = 'tree_op_patches_exponent' AND f.variant = t.variant AND f.device = t.device
     AND f.fixed = json_remove(t.axes, '$.patches')
WHERE t.run_id = :run AND t.tree_op_ns IS NOT NULL AND t.targets > 0
  AND EXISTS (SELECT 1 FROM tree_structure m WHERE m.run_id = :run AND m.config = t.config AND m.patches > 1)),
-- a line of slope 1 from the slowest of the fewest patches
slope AS (SELECT config, min(targets) AS least, max(targets) AS most FROM drawn GROUP BY config HAVING max(targets) > min(targets))
SELECT targets, tree_op_ns, low_ns, high_ns, fitted_ns, variant, config FROM (
  SELECT * FROM drawn
  UNION ALL SELECT e.value, NULL, NULL, NULL, e.value * 1.0 / s.least * (SELECT max(d.tree_op_ns) FROM drawn d WHERE d.config = s.config AND d.targets = s.least), 'in proportion', s.config,
                   NULL, NULL, NULL, NULL, NULL FROM slope s JOIN json_each(json_array(s.least, s.most)) e)
ORDER BY tree_op_ns IS NULL, matcher, first, leaves, parameters, variant = 'built-in', ordinal, config, targets;

-- Findings, in order of worth, of the largest tree.

-- finding: speedup
SELECT speedup_text(printf('%s, which patches %s of %s in %s,', variant, plural(targets, 'module'), config, time_text(patch_ns)), loop, patch_speedup,
                    patch_speedup_low, patch_speedup_high) || '.' AS sentence
FROM tree_candidate WHERE run_id = :run AND program = 'perfkit' AND variant = best ORDER BY leaves DESC, parameters DESC, matcher <> 'compiled', ordinal LIMIT 1;

-- finding: recommendation
SELECT printf('On %s, %s is not told apart from %s, and is simpler.', config, variant, best) AS sentence
FROM tree_recommended WHERE run_id = :run AND program = 'perfkit' AND place = 1 AND variant <> best
ORDER BY leaves DESC, parameters DESC, matcher <> 'compiled', ordinal LIMIT 1;

-- finding: growth
SELECT 'The tree operation for all patches grows with ' || group_concat(printf('leaves^%.2f (%.2f to %.2f) in %s', slope, slope_low, slope_high, variant), ', ') || '.' AS sentence
FROM (SELECT f.*, row_number() OVER (ORDER BY o.ordinal) AS place FROM v_fit f
      JOIN (SELECT run_id, variant, min(ordinal) AS ordinal FROM v_case GROUP BY run_id, variant) o ON o.run_id = f.run_id AND o.variant = f.variant
      WHERE f.run_id = :run AND f.name = 'tree_op_leaves_exponent' AND f.fixed ->> 'op' = 'patch' AND f.fixed ->> 'weights' = 'none'
        AND f.fixed ->> 'patches' = 0 AND f.fixed ->> 'matcher' = 'compiled' AND f.variant IN ('naive', 'batched', 'path-copy')
        AND f.slope_high - f.slope_low < 0.5) WHERE place <= 3 HAVING count(*) > 0;

-- finding: leaf
SELECT printf('One patch by %s costs %.2f ns per leaf (%.2f to %.2f), R² %.4f.', series, slope, slope_low, slope_high, r2) AS sentence
FROM tree_line WHERE run_id = :run AND variant = 'naive' AND slope_low > 0 ORDER BY r2 DESC LIMIT 1;

-- finding: matching
SELECT 'Finding the modules of ' || f.config || ': ' || speedup_text('compiled', 'fnmatch', f.match_ns / c.match_ns, f.match_low_ns / c.match_high_ns, f.match_high_ns / c.match_low_ns)
       || '.' AS sentence
FROM tree_match f JOIN tree_match c ON c.run_id = f.run_id AND c.config = f.config AND c.parameters = f.parameters AND c.other_axes IS f.other_axes AND c.matcher = 'compiled'
WHERE f.run_id = :run AND f.matcher = 'fnmatch' ORDER BY f.leaves DESC, f.parameters DESC LIMIT 1;
