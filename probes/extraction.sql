-- Tables of extraction: the first batch and steady ones, stages and the bottleneck, overlap, throughput, plans, baseline and pipeline, peers, projections, verification.
-- docs/extraction.md explains the terms. A `setting` is everything but the variant.

-- view: extraction_case
SELECT c.run_id, c.case_id, c.ordinal, c.variant, c.status, c.message,
       printf('%s, layers %s to %s of %s, batch %d x %d, %s, %s, %s', c.axes ->> 'dtype', c.axes ->> 'extract_from', c.axes ->> 'extract_to',
              c.axes ->> 'layers', c.axes ->> 'batch', c.axes ->> 'seq_len', plural(c.axes ->> 'samples', 'sample'), c.axes ->> 'codec' ||
              CASE c.axes ->> 'byte_filter' WHEN 'none' THEN '' ELSE ' after ' || (c.axes ->> 'byte_filter') END,
              CASE WHEN c.axes ->> 'sink' = 'null' THEN 'no folder' ELSE 'a folder' END)
       || printf(', %s, %s', plural(c.axes ->> 'compress_threads', 'thread'), plural(c.axes ->> 'slots', 'slot'))
       || CASE WHEN c.axes ->> 'ranks' > 1 THEN printf(', %d ranks', c.axes ->> 'ranks') ELSE '' END
       || CASE WHEN c.axes ->> 'pad' THEN '' ELSE ', not padded' END AS setting,
       CAST(c.axes ->> 'batch' AS INTEGER) AS batch, CAST(c.axes ->> 'samples' AS INTEGER) AS samples, CAST(c.axes ->> 'seq_len' AS INTEGER) AS seq_len,
       (c.axes ->> 'samples' + (c.axes ->> 'batch') * coalesce(c.axes ->> 'ranks', 1) - 1) / ((c.axes ->> 'batch') * coalesce(c.axes ->> 'ranks', 1)) AS batches,
       iif(c.variant = 'pipelined', CAST(c.axes ->> 'compress_threads' AS INTEGER), 1) AS threads, m.*
FROM v_case c
LEFT JOIN (SELECT case_id AS of_case,
                  max(median) FILTER (WHERE metric = 'extract_ns') AS extract_ns,
                  max(ci_low) FILTER (WHERE metric = 'extract_ns') AS extract_low_ns,
                  max(ci_high) FILTER (WHERE metric = 'extract_ns') AS extract_high_ns,
                  max(uncertainty) FILTER (WHERE metric = 'extract_ns') AS extract_uncertainty,
                  max(median) FILTER (WHERE metric = 'forward_ns') AS forward_ns,
                  max(median) FILTER (WHERE metric = 'gather_ns') AS gather_ns,
                  max(median) FILTER (WHERE metric = 'd2h_ns') AS d2h_ns,
                  max(median) FILTER (WHERE metric = 'plan_ns') AS plan_ns,
                  max(median) FILTER (WHERE metric = 'checksum_ns') AS checksum_ns,
                  max(median) FILTER (WHERE metric = 'filter_ns') AS filter_ns,
                  max(median) FILTER (WHERE metric = 'compress_ns') AS compress_ns,
                  max(median) FILTER (WHERE metric = 'write_ns') AS write_ns,
                  max(median) FILTER (WHERE metric = 'sync_ns') AS sync_ns,
                  max(median) FILTER (WHERE metric = 'full_ns') AS full_ns,
                  max(median) FILTER (WHERE metric = 'peak_bytes') AS peak_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'real_samples') AS INTEGER) AS real_samples,
                  CAST(max(median) FILTER (WHERE metric = 'slot_samples') AS INTEGER) AS slot_samples,
                  CAST(max(median) FILTER (WHERE metric = 'raw_bytes') AS INTEGER) AS raw_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'stored_bytes') AS INTEGER) AS stored_bytes,
                  CAST(max(median) FILTER (WHERE metric = 'plans') AS INTEGER) AS plans,
                  CAST(max(median) FILTER (WHERE metric = 'replans') AS INTEGER) AS replans
           FROM v_summary GROUP BY case_id) m ON m.of_case = c.case_id
WHERE c.status <> 'skipped';

-- view: extraction_process
-- Of each process: perfkit's own notes, or of a peer, whose samples of batch_ns are batches, the median of what comes behind the first.
SELECT b.run_id, b.case_id, b.invocation, max(b.value) FILTER (WHERE b.phase = 'first' AND coalesce(b.instance, 0) = 0) AS first_ns,
       coalesce(max(json_extract(l.notes, '$.extraction.steady_ns')), avg(b.value) FILTER (WHERE b.phase <> 'first' AND b.place IN ((b.n + 1) / 2, (b.n + 2) / 2))) AS steady_ns,
       max(json_extract(l.notes, '$.extraction.steady_first')) AS steady_first, max(json_extract(l.notes, '$.extraction.allocation_ns')) AS allocation_ns,
       max(json_extract(l.notes, '$.extraction.weights_ns')) AS weights_ns, max(json_extract(l.notes, '$.extraction.plan_ns')) AS plan_ns,
       max(json_extract(l.notes, '$.extraction.module_ns')) AS module_ns, max(json_extract(l.notes, '$.extraction.plan_warm_ns')) AS plan_warm_ns,
       max(json_extract(l.notes, '$.extraction.resumed_from')) AS resumed_from
FROM (SELECT s.*, row_number() OVER (PARTITION BY case_id, invocation, phase = 'first' ORDER BY value) AS place,
             count(*) OVER (PARTITION BY case_id, invocation, phase = 'first') AS n
      FROM v_sample s WHERE metric = 'batch_ns' AND pass = 'timing') b
LEFT JOIN v_slice l ON l.case_id = b.case_id AND l.invocation = b.invocation AND l.pass = 'timing' AND l.status = 'ok'
GROUP BY b.run_id, b.case_id, b.invocation;

-- view: extraction_batch
-- The median process of each case, with intervals where there are three.
SELECT run_id, case_id, max(n) AS processes, avg(first_ns) FILTER (WHERE first_place IN ((n + 1) / 2, (n + 2) / 2)) AS first_ns,
       avg(steady_ns) FILTER (WHERE steady_place IN ((n + 1) / 2, (n + 2) / 2)) AS steady_ns, min(steady_ns) AS steady_min_ns, max(steady_ns) AS steady_max_ns,
       processes_low(first_ns) AS first_low_ns, processes_high(first_ns) AS first_high_ns, processes_low(steady_ns) AS steady_low_ns, processes_high(steady_ns) AS steady_high_ns,
       avg(module_ns) AS module_ns, avg(plan_warm_ns) AS plan_warm_ns,
       avg(allocation_ns) AS allocation_ns, avg(weights_ns) AS weights_ns, avg(plan_ns) AS plan_ns, max(steady_first) AS steady_first, max(resumed_from) AS resumed_from
FROM (SELECT *, count(*) OVER c AS n, row_number() OVER (c ORDER BY first_ns) AS first_place, row_number() OVER (c ORDER BY steady_ns) AS steady_place
      FROM extraction_process WINDOW c AS (PARTITION BY case_id))
GROUP BY run_id, case_id;

-- view: extraction_stage
-- Time of a batch in each stage, and in how many places at once it is worked on.
SELECT run_id, case_id, setting, ordinal, variant, batches, 1 AS row, 'forward' AS stage, 1 AS parallel, forward_ns AS total_ns, NULL AS bytes FROM extraction_case
UNION ALL SELECT run_id, case_id, setting, ordinal, variant, batches, 2, 'gather (in forward)', NULL, gather_ns, raw_bytes FROM extraction_case
UNION ALL SELECT run_id, case_id, setting, ordinal, variant, batches, 3, 'plan', 1, plan_ns, NULL FROM extraction_case WHERE plan_ns IS NOT NULL
UNION ALL SELECT run_id, case_id, setting, ordinal, variant, batches, 4, 'd2h', 1, d2h_ns, raw_bytes FROM extraction_case
UNION ALL SELECT run_id, case_id, setting, ordinal, variant, batches, 5, 'checksum, filter, compress', threads, checksum_ns + filter_ns + compress_ns, raw_bytes FROM extraction_case
UNION ALL SELECT run_id, case_id, setting, ordinal, variant, batches, 6, 'write, sync', 1, write_ns + sync_ns, stored_bytes FROM extraction_case;

-- view: extraction_bound
-- The slowest stage, the bound of a pipeline.
SELECT run_id, case_id, stage AS slowest, bound_ns FROM (
  SELECT *, total_ns / batches / parallel AS bound_ns, row_number() OVER (PARTITION BY case_id ORDER BY total_ns / batches / parallel DESC) AS place
  FROM extraction_stage WHERE parallel IS NOT NULL AND total_ns IS NOT NULL)
WHERE place = 1;

-- view: extraction_overlap
-- Of the steady passes of each process, or of all where none is: how long the slowest stage of each was at work between its first piece and its last one.
-- Of a case: the median process.
SELECT run_id, case_id, avg(fill_ns) AS fill_ns, avg(drain_ns) AS drain_ns, avg(efficiency) FILTER (WHERE place IN ((n + 1) / 2, (n + 2) / 2)) AS efficiency,
       processes_low(efficiency) AS efficiency_low, min(processes_high(efficiency), 1.0) AS efficiency_high
FROM (SELECT *, row_number() OVER (PARTITION BY case_id ORDER BY efficiency) AS place, count(*) OVER (PARTITION BY case_id) AS n
      FROM (SELECT run_id, case_id, invocation, avg(value) FILTER (WHERE metric = 'fill_ns') AS fill_ns, avg(value) FILTER (WHERE metric = 'drain_ns') AS drain_ns,
                   sum(value) FILTER (WHERE metric = 'bound_ns') * 1.0 / sum(CASE metric WHEN 'extract_ns' THEN value WHEN 'bound_ns' THEN 0 ELSE -value END) AS efficiency
            FROM (SELECT *, max(phase = 'steady') OVER (PARTITION BY case_id, invocation) AS has_steady FROM v_sample
                  WHERE metric IN ('bound_ns', 'fill_ns', 'drain_ns', 'extract_ns') AND pass = 'timing')
            WHERE phase = 'steady' OR NOT has_steady GROUP BY run_id, case_id, invocation))
WHERE efficiency IS NOT NULL GROUP BY run_id, case_id;

-- view: extraction_all
SELECT c.*, b.processes, b.first_ns, b.first_low_ns, b.first_high_ns, b.steady_ns, b.steady_low_ns, b.steady_high_ns, b.steady_min_ns, b.steady_max_ns, b.module_ns, b.plan_warm_ns, b.allocation_ns, b.weights_ns, b.plan_ns AS first_plan_ns, b.steady_first,
       b.resumed_from, s.slowest, s.bound_ns,
       first_value(c.extract_ns) OVER w AS base_ns, first_value(c.extract_low_ns) OVER w AS base_low_ns, first_value(c.extract_high_ns) OVER w AS base_high_ns,
       first_value(b.first_ns) OVER w AS base_first_ns, first_value(b.first_low_ns) OVER w AS base_first_low_ns, first_value(b.first_high_ns) OVER w AS base_first_high_ns,
       first_value(b.steady_ns) OVER w AS base_steady_ns, first_value(b.steady_low_ns) OVER w AS base_steady_low_ns, first_value(b.steady_high_ns) OVER w AS base_steady_high_ns,
       first_value(c.variant) OVER w = 'sequential' AS has_base
FROM extraction_case c LEFT JOIN extraction_batch b USING (run_id, case_id) LEFT JOIN extraction_bound s USING (run_id, case_id)
WINDOW w AS (PARTITION BY c.run_id, c.setting ORDER BY c.variant <> 'sequential', c.ordinal);

-- table: batches
-- title: First batch and steady state: {each}
-- each: SELECT setting FROM extraction_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Variant | text
-- column: allocation_ns | Allocation (ms) | ms | 3 hide
-- column: weights_ns | Weights (ms) | ms | 3 hide optional2
-- column: first_plan_ns | Plan (ms) | ms | 3 hide
-- column: first_ns | First batch (ms) | ms | 3
-- column: steady_ns | Steady (ms) | ms | 3
-- column: steady_min_ns | Processes from | ms | 3 optional1
-- column: steady_max_ns | to (ms) | ms | 3 optional1
-- column: first_steady | First / steady | x | 2
-- column: first_steady_low | 95 % interval | x | 2 interval
-- column: verdict | In words | state | optional2
-- column: warm_up_ns | Warm-up (ms) | ms | 3
-- column: steady_first | Steady from batch | | hide
-- column: setting | Setting | text | machine
-- note: SELECT 'Steady: the median of the batches after the first detected change of a pass, of the median process. In words: the first batch beside a steady one, where three processes give an interval.'
--   FROM extraction_all WHERE run_id = :run AND setting = :each AND allocation_ns IS NOT NULL LIMIT 1
-- note: SELECT printf('Continued: %d samples were in the folder when the run began.', max(resumed_from)) FROM extraction_all WHERE run_id = :run AND setting = :each AND resumed_from > 0 HAVING count(*) > 0
SELECT variant, allocation_ns, weights_ns, first_plan_ns, first_ns, steady_ns, steady_min_ns, steady_max_ns, first_ns / steady_ns AS first_steady,
       first_low_ns / steady_high_ns AS first_steady_low, first_high_ns / steady_low_ns AS first_steady_high,
       in_words(steady_low_ns / first_high_ns, steady_high_ns / first_low_ns) AS verdict,
       coalesce(module_ns, 0) + coalesce(allocation_ns, 0) + coalesce(weights_ns, 0) + coalesce(first_plan_ns, 0) + max(first_ns - steady_ns, 0) AS warm_up_ns, steady_first, setting
FROM extraction_all WHERE run_id = :run AND setting = :each AND status = 'ok' ORDER BY ordinal;

-- table: warm_up
-- title: Warm-up of a process: {each}
-- each: SELECT setting FROM extraction_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Variant | text
-- column: module_ns | Modules (ms) | ms | 3
-- column: allocation_ns | Allocation (ms) | ms | 3
-- column: weights_ns | Weights (ms) | ms | 3
-- column: plan_ns | Plan, cold (ms) | ms | 3
-- column: plan_warm_ns | Plan, warm (ms) | ms | 3
-- column: first_extra_ns | First batch (ms) | ms | 3
-- column: warm_up_ns | Sum (ms) | ms | 3
-- column: setting | Setting | text | machine
-- note: SELECT 'Modules: the first use of libraries and kernels, one block of one sequence. Plan, warm: the same plan once more, from the cache; not in the sum. First batch: its time above a steady one. The process that ran the check had loaded its modules.'
--   FROM extraction_all WHERE run_id = :run AND setting = :each AND allocation_ns IS NOT NULL LIMIT 1
SELECT variant, module_ns, allocation_ns, weights_ns, first_plan_ns AS plan_ns, plan_warm_ns, max(first_ns - steady_ns, 0) AS first_extra_ns,
       coalesce(module_ns, 0) + coalesce(allocation_ns, 0) + coalesce(weights_ns, 0) + coalesce(first_plan_ns, 0) + max(first_ns - steady_ns, 0) AS warm_up_ns, setting
FROM extraction_all WHERE run_id = :run AND setting = :each AND status = 'ok' AND allocation_ns IS NOT NULL ORDER BY ordinal;

-- table: stages
-- title: Stages of a batch: {each}
-- each: SELECT setting FROM extraction_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Variant | text
-- column: stage | Stage | text
-- column: parallel | At once
-- column: batch_ns | Batch (ms) | ms | 3
-- column: bytes_per_s | GB/s | GB/s | 2
-- column: share | Share of a batch (%) | % | 1
-- column: binds | Bottleneck | text
-- column: setting | Setting | text | machine
-- note: SELECT printf('%s: the bottleneck is %s, %.3f ms a batch. Table overlap shows how well the pipeline hides the other stages.', variant, slowest, bound_ns / 1e6)
--   FROM extraction_all WHERE run_id = :run AND setting = :each AND variant = 'pipelined' AND bound_ns > 0 AND extract_ns > 0
-- note: SELECT 'Times of threads are elapsed time: where forward and compression share the CPUs, each makes the other slower.' FROM v_case WHERE run_id = :run AND device = 'cpu' LIMIT 1
SELECT s.variant, s.stage, s.parallel, s.total_ns / s.batches AS batch_ns, s.bytes * 1e9 / s.total_ns AS bytes_per_s,
       s.total_ns / s.parallel / a.extract_ns AS share, iif(s.stage = a.slowest, 'yes', '') AS binds, s.setting
FROM extraction_stage s JOIN extraction_all a USING (run_id, case_id)
WHERE s.run_id = :run AND s.setting = :each AND a.status = 'ok' AND s.total_ns IS NOT NULL ORDER BY s.ordinal, s.row;

-- table: overlap
-- title: Overlap: how long the slowest stage of pipelined is at work
-- column: slowest | Slowest stage | text
-- column: extract_ns | Pass (ms) | ms | 3
-- column: fill_ns | Fill (ms) | ms | 3
-- column: drain_ns | Drain (ms) | ms | 3
-- column: efficiency | Overlap efficiency (%) | % | 1
-- column: efficiency_low | 95 % interval | % | 1 interval
-- column: setting | Setting | text
-- note: SELECT 'Overlap efficiency: how much of the time from its first piece to its last one the slowest stage of a pass is at work. Fill comes before that, drain after it. Its time is that in the pipeline, where stages share CPUs, and not that of the stage alone.'
--   FROM extraction_overlap WHERE run_id = :run LIMIT 1
SELECT a.slowest, a.extract_ns, o.fill_ns, o.drain_ns, o.efficiency, o.efficiency_low, o.efficiency_high, a.setting
FROM extraction_all a JOIN extraction_overlap o USING (run_id, case_id) WHERE a.run_id = :run AND a.status = 'ok' ORDER BY a.ordinal;

-- table: throughput
-- title: Throughput: {each}
-- each: SELECT setting FROM extraction_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Variant | text
-- column: real_samples | Samples
-- column: slot_samples | Slots
-- column: steady_per_s | Steady slots/s | | 1
-- column: slots_per_s | Slots/s, end to end | | 1
-- column: samples_per_s | Samples/s, end to end | | 1
-- column: tokens_per_s | Tokens/s | | 0
-- column: raw_bytes_per_s | Raw (GB/s) | GB/s | 3
-- column: peak_bytes | Peak Mem (MB) | MB | 1 optional1
-- column: setting | Setting | text | machine
-- note: SELECT printf('%s of %s are padding: Samples counts the real ones.', slot_samples - real_samples, plural(slot_samples, 'slot')) FROM extraction_all
--   WHERE run_id = :run AND setting = :each AND slot_samples > real_samples LIMIT 1
SELECT variant, coalesce(real_samples, samples) AS real_samples, coalesce(slot_samples, batch * batches) AS slot_samples, batch * 1e9 / steady_ns AS steady_per_s,
       coalesce(slot_samples, batch * batches) * 1e9 / extract_ns AS slots_per_s, coalesce(real_samples, samples) * 1e9 / extract_ns AS samples_per_s,
       coalesce(real_samples, samples) * seq_len * 1e9 / extract_ns AS tokens_per_s, raw_bytes * 1e9 / extract_ns AS raw_bytes_per_s, peak_bytes, setting
FROM extraction_all WHERE run_id = :run AND setting = :each AND status = 'ok' ORDER BY ordinal;

-- table: plans
-- title: Plans, by shape of a batch
-- column: variant | Variant | text
-- column: shapes | Shapes
-- column: plans | Plans a pass
-- column: replans | After the first batch
-- column: flag | Flag | text
-- column: setting | Setting | text
-- note: SELECT 'A plan is made when the process begins and kept; a pass of a sequential or pipelined run that makes one again has batches of another shape.'
--   FROM extraction_all WHERE run_id = :run AND plans IS NOT NULL LIMIT 1
SELECT variant, 1 + (samples % batch > 0 AND setting LIKE '%not padded') AS shapes, plans, replans, CASE WHEN replans > 0 THEN 'planned again' ELSE '' END AS flag, setting
FROM extraction_all WHERE run_id = :run AND status = 'ok' AND plans IS NOT NULL ORDER BY ordinal;

-- table: comparison
-- headline: 1
-- title: Baseline and pipeline: {each}
-- each: SELECT setting FROM extraction_case WHERE run_id = :run GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Variant | text
-- column: extract_ns | Pass (ms) | ms | 3
-- column: extract_uncertainty | ± % | ± | 1
-- column: speedup | Speed-up | x | 2
-- column: speedup_low | 95 % interval | x | 2 interval
-- column: verdict | In words | state
-- column: saved | Time saved (%) | % | 1
-- column: status | Status | state
-- column: setting | Setting | text | machine
-- note: SELECT speedup_note('sequential', count(speedup_low) < count(speedup), 'variant') FROM (SELECT base_ns / extract_ns AS speedup, base_low_ns / extract_high_ns AS speedup_low FROM extraction_all
--   WHERE run_id = :run AND setting = :each AND variant <> 'sequential' AND has_base AND extract_ns IS NOT NULL) HAVING count(*) > 0
-- note: SELECT note FROM v_interval_note WHERE run_id = :run AND experiment = 'extraction'
-- note: SELECT 'Not measured: ' || variant || ': ' || message FROM extraction_case WHERE run_id = :run AND setting = :each AND status <> 'ok' AND message <> '' GROUP BY message
SELECT variant, extract_ns, extract_uncertainty, iif(has_base, base_ns / extract_ns, NULL) AS speedup,
       iif(has_base AND variant <> 'sequential', base_low_ns / extract_high_ns, NULL) AS speedup_low,
       iif(has_base AND variant <> 'sequential', base_high_ns / extract_low_ns, NULL) AS speedup_high,
       iif(has_base AND variant <> 'sequential', in_words(base_low_ns / extract_high_ns, base_high_ns / extract_low_ns), NULL) AS verdict,
       iif(has_base, 1 - extract_ns / base_ns, NULL) AS saved, CASE status WHEN 'ok' THEN 'OK' WHEN 'oom' THEN 'OOM' ELSE status END AS status, setting
FROM extraction_all WHERE run_id = :run AND setting = :each ORDER BY ordinal;

-- table: peers
-- title: pipelined and peers, in the same run
-- column: variant | Peer | text
-- column: extract_ns | Pass of the peer (ms) | ms | 3
-- column: pipelined_ns | of pipelined (ms) | ms | 3
-- column: speedup | Speed-up | x | 2
-- column: speedup_low | 95 % interval | x | 2 interval
-- column: verdict | In words | state
-- column: ten_times | At least 10 x | text
-- column: setting | Setting | text
-- note: SELECT 'At least 10 x: shown where the whole interval is, not shown where it contains 10 or is missing (three processes: --invocations 3), no where all of it is below. A pass of a peer has its forward passes, copies, compression and file, as that of pipelined.'
--   FROM extraction_all WHERE run_id = :run AND variant NOT IN ('sequential', 'replanned', 'pipelined') AND extract_ns IS NOT NULL LIMIT 1
SELECT variant, extract_ns, pipelined_ns, speedup, speedup_low, speedup_high, in_words(speedup_low, speedup_high) AS verdict,
       CASE WHEN speedup_low >= 10 THEN 'shown' WHEN speedup_high < 10 THEN 'no' ELSE 'not shown' END AS ten_times, setting
FROM (SELECT t.variant, t.extract_ns, p.extract_ns AS pipelined_ns, t.extract_ns / p.extract_ns AS speedup, t.extract_low_ns / p.extract_high_ns AS speedup_low,
             t.extract_high_ns / p.extract_low_ns AS speedup_high, t.setting, t.ordinal
      FROM extraction_all t JOIN extraction_all p ON p.run_id = t.run_id AND p.setting = t.setting AND p.variant = 'pipelined' AND p.status = 'ok'
      WHERE t.run_id = :run AND t.variant NOT IN ('sequential', 'replanned', 'pipelined') AND t.status = 'ok')
ORDER BY ordinal;

-- view: extraction_projection
-- To 8,000 samples on one host or four: the first batch and `more` steady ones, and the same of sequential.
SELECT run_id, setting, ordinal, variant, hosts, more + 1 AS host_batches, first_ns + more * steady_ns AS projected_ns, first_low_ns + more * steady_low_ns AS projected_low_ns,
       first_high_ns + more * steady_high_ns AS projected_high_ns, first_ns + (8000 / batch - 1) * steady_ns AS one_ns,
       iif(other, base_first_ns + more * base_steady_ns, NULL) AS sequential_ns, iif(other, base_first_low_ns + more * base_steady_low_ns, NULL) AS sequential_low_ns,
       iif(other, base_first_high_ns + more * base_steady_high_ns, NULL) AS sequential_high_ns
FROM (SELECT a.*, h.hosts, (8000 / a.batch + h.hosts - 1) / h.hosts - 1 AS more, a.has_base AND a.variant <> 'sequential' AS other
      FROM extraction_all a JOIN (SELECT 1 AS hosts UNION ALL SELECT 4) h WHERE a.status = 'ok' AND a.steady_ns > 0);

-- table: projection
-- title: Projection to 8,000 samples (1,000 tasks of 8 prompts), extrapolated: {each}
-- each: SELECT setting FROM extraction_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: variant | Variant | text
-- column: hosts | Hosts
-- column: host_batches | Batches a host
-- column: projected_ns | Time (s) | s | 1
-- column: projected_low_ns | 95 % interval | s | 1 optional1 interval
-- column: against_one | Against one host | x | 2 optional2
-- column: saved_ns | Saved against sequential (s) | s | 1
-- column: saved_low_ns | 95 % interval | s | 1 interval
-- column: verdict | In words | state
-- column: setting | Setting | text | machine
-- note: SELECT 'First batch and (n - 1) steady ones; each host pays its own first batch, so hosts do not divide the time by their number.' FROM extraction_all WHERE run_id = :run AND setting = :each AND steady_ns > 0 LIMIT 1
-- note: SELECT 'Intervals follow from the ends of those of both batches, over processes' || iif(count(projected_low_ns) < count(*), '; they need three (--invocations 3).', '. Nothing is concluded where that of the difference contains 0 (not told apart).')
--   FROM extraction_projection WHERE run_id = :run AND setting = :each HAVING count(*) > 0
SELECT variant, hosts, host_batches, projected_ns, projected_low_ns, projected_high_ns, one_ns / projected_ns AS against_one, sequential_ns - projected_ns AS saved_ns,
       sequential_low_ns - projected_high_ns AS saved_low_ns, sequential_high_ns - projected_low_ns AS saved_high_ns,
       in_words(sequential_low_ns / projected_high_ns, sequential_high_ns / projected_low_ns) AS verdict, setting
FROM extraction_projection WHERE run_id = :run AND setting = :each ORDER BY ordinal, hosts;

-- view: extraction_layer
SELECT l.run_id, l.case_id, l.invocation, json_extract(b.value, '$.layer') AS layer, json_extract(b.value, '$.samples') AS samples,
       json_extract(b.value, '$.exponent_bits') AS exponent_bits, json_extract(b.value, '$.bound') AS bound
FROM v_slice l, json_each(l.notes, '$.extraction.layers') b WHERE l.pass = 'timing' AND l.status = 'ok';

-- table: verification
-- title: Verification of the output: {each}
-- each: SELECT setting FROM extraction_case WHERE run_id = :run AND status = 'ok' GROUP BY setting ORDER BY min(ordinal)
-- column: layer | Layer
-- column: samples | Samples
-- column: bytes | Raw (MB) | MB | 3
-- column: raw_per_stored | Ratio | x | 3
-- column: exponent_bits | Exponent (bits) | | 3
-- column: bound | Bound | x | 3
-- column: of_bound | Of bound (%) | % | 1
-- column: setting | Setting | text | machine
-- note: SELECT printf('All layers: %.3f MB raw, %.3f MB stored. Ratio: of all layers together. Bound: what the entropy of the exponents allows when sign and mantissa cannot be compressed, of the last batch.', raw_bytes / 1e6, stored_bytes / 1e6)
--   FROM extraction_all WHERE run_id = :run AND setting = :each AND stored_bytes > 0 ORDER BY variant <> 'pipelined' LIMIT 1
SELECT l.layer, l.samples, a.raw_bytes * 1.0 / count(*) OVER () AS bytes, a.raw_bytes * 1.0 / nullif(a.stored_bytes, 0) AS raw_per_stored, l.exponent_bits, l.bound,
       a.raw_bytes * 1.0 / nullif(a.stored_bytes, 0) / l.bound AS of_bound, a.setting
FROM extraction_layer l JOIN extraction_all a USING (run_id, case_id)
WHERE a.run_id = :run AND a.setting = :each AND l.invocation = (SELECT min(invocation) FROM extraction_layer o WHERE o.case_id = l.case_id)
  AND l.case_id = (SELECT case_id FROM extraction_all WHERE run_id = :run AND setting = :each AND status = 'ok' ORDER BY variant <> 'pipelined', ordinal LIMIT 1)
ORDER BY l.layer;

-- Charts; of several settings each names what differs.

-- view: extraction_named
SELECT run_id, setting, differing(setting, group_concat(setting, char(10)) OVER (PARTITION BY run_id)) AS which FROM (SELECT DISTINCT run_id, setting FROM extraction_case);

-- chart: stages
-- title: Time of a batch in each stage
-- mark: stack
-- x: variant
-- y: batch_ns
-- color: stage
-- facet: setting
-- column: variant | Variant | text
-- column: batch_ns | Batch (ms) | ms | 3
-- column: stage | Stage | text
-- column: setting | Setting | text
-- note: SELECT 'The stages of pipelined overlap: its batch takes little more than the slowest of them, the bound of the table stages.' FROM extraction_bound JOIN extraction_case USING (run_id, case_id)
--   WHERE run_id = :run AND variant = 'pipelined' LIMIT 1
SELECT s.variant, s.total_ns / s.batches / s.parallel AS batch_ns, replace(s.stage, 'checksum, filter, ', '') AS stage, coalesce(nullif(trim(w.which, ' ()'), ''), s.setting) AS setting
FROM extraction_stage s JOIN extraction_case c USING (run_id, case_id) JOIN extraction_named w ON w.run_id = s.run_id AND w.setting = s.setting
WHERE s.run_id = :run AND c.status = 'ok' AND s.parallel IS NOT NULL AND s.total_ns IS NOT NULL
ORDER BY min(s.ordinal) OVER (PARTITION BY s.setting), s.ordinal, s.row;

-- chart: codecs
-- title: What each codec saves over its speed
-- mark: point
-- x: bytes_per_s log
-- y: raw_per_stored
-- color: codec
-- facet: variant
-- column: bytes_per_s | Raw bytes filtered and compressed (GB/s) | GB/s | 3
-- column: raw_per_stored | Raw / stored | x | 3
-- column: codec | Codec | text
-- column: variant | Variant | text
-- note: SELECT 'Speed: of one thread, at work beside the forward pass.' FROM v_case WHERE run_id = :run AND experiment = 'extraction' AND axes ->> 'codec' <> 'none' LIMIT 1
SELECT e.raw_bytes * 1e9 / (e.filter_ns + e.compress_ns) AS bytes_per_s, e.raw_bytes * 1.0 / e.stored_bytes AS raw_per_stored,
       c.axes ->> 'codec' || iif(c.axes ->> 'byte_filter' = 'none', '', ' after ' || (c.axes ->> 'byte_filter')) AS codec, e.variant || ', ' || (c.axes ->> 'dtype') AS variant
FROM extraction_case e JOIN v_case c USING (run_id, case_id)
WHERE e.run_id = :run AND e.status = 'ok' AND c.axes ->> 'codec' <> 'none' AND e.stored_bytes > 0 AND e.filter_ns + e.compress_ns > 0
ORDER BY e.ordinal;

-- chart: overlap
-- title: Overlap: when the slowest stage of pipelined is at work
-- mark: stack
-- x: setting
-- y: time_ns
-- color: part
-- column: setting | Setting | text
-- column: time_ns | Time of a pass (ms) | ms | 3
-- column: part | Part | text
SELECT coalesce(nullif(trim(w.which, ' ()'), ''), a.slowest || ' is the slowest') AS setting, p.column1 AS part,
       CASE p.column1 WHEN 'drain' THEN o.drain_ns WHEN 'fill' THEN o.fill_ns WHEN 'at work' THEN o.efficiency * (a.extract_ns - o.fill_ns - o.drain_ns)
            ELSE (1 - o.efficiency) * (a.extract_ns - o.fill_ns - o.drain_ns) END AS time_ns
FROM extraction_all a JOIN extraction_overlap o USING (run_id, case_id) JOIN extraction_named w ON w.run_id = a.run_id AND w.setting = a.setting
JOIN (VALUES ('drain'), ('waits'), ('at work'), ('fill')) p
WHERE a.run_id = :run AND a.status = 'ok' ORDER BY a.ordinal, instr('fill, at work, waits, drain', p.column1) DESC;

-- A batch of the first pass of the first process.
-- view: extraction_first
SELECT a.run_id, a.variant, a.setting, a.ordinal, a.steady_ns, a.steady_first, s.value,
       row_number() OVER (PARTITION BY s.case_id ORDER BY s.ordinal, s.instance) AS batch
FROM extraction_all a JOIN v_sample s ON s.case_id = a.case_id AND s.metric = 'batch_ns' AND s.pass = 'timing'
WHERE (s.ordinal = 0 OR a.plans IS NULL) AND coalesce(s.rank, 0) = 0
  AND s.invocation = (SELECT min(invocation) FROM v_slice l WHERE l.case_id = a.case_id AND l.pass = 'timing' AND l.status = 'ok');

-- chart: batches
-- title: Batches of the first pass, with the steady time
-- mark: line
-- x: batch
-- y: batch_ns log
-- color: variant
-- facet: setting
-- fit: steady_ns
-- rule: steady
-- column: batch | Batch
-- column: batch_ns | Time (ms) | ms | 3
-- column: steady_ns | Steady (ms) | ms | 3
-- column: variant | Variant | text
-- column: setting | Setting | text
-- column: steady | Warm-up | text
-- note: SELECT 'Of the first process. Dashed: a steady batch of the median process.' FROM extraction_batch WHERE run_id = :run LIMIT 1
SELECT b.batch, b.value AS batch_ns, b.steady_ns, b.variant, coalesce(nullif(trim(w.which, ' ()'), ''), b.setting) AS setting,
       iif(b.batch > 1 AND b.batch = b.steady_first AND row_number() OVER (PARTITION BY b.setting, b.batch, b.batch = b.steady_first ORDER BY b.ordinal) = 1,
           'steady: ' || group_concat(b.variant, ', ') OVER (PARTITION BY b.setting, b.batch, b.batch = b.steady_first), NULL) AS steady
FROM extraction_first b JOIN extraction_named w ON w.run_id = :run AND w.setting = b.setting
WHERE b.run_id = :run AND b.batch <= 100 ORDER BY min(b.ordinal) OVER (PARTITION BY b.setting), b.ordinal, b.batch;

-- chart: total
-- title: Time so far over the batches of the first pass, beside the steady time
-- mark: line
-- x: batch
-- y: total_ns
-- color: variant
-- facet: setting
-- fit: steady_ns
-- column: batch | Batches
-- column: total_ns | Time so far (ms) | ms | 3
-- column: steady_ns | Steady (ms) | ms | 3
-- column: variant | Variant | text
-- column: setting | Setting | text
-- note: SELECT 'Of the first process. Dashed: warm from the first batch on; what lies between is the warm-up.' FROM extraction_first WHERE run_id = :run AND batch > 1 LIMIT 1
SELECT b.batch, sum(b.value) OVER (PARTITION BY b.setting, b.variant ORDER BY b.batch) AS total_ns, b.batch * b.steady_ns AS steady_ns, b.variant,
       coalesce(nullif(trim(w.which, ' ()'), ''), b.setting) AS setting
FROM extraction_first b JOIN extraction_named w ON w.run_id = :run AND w.setting = b.setting
WHERE b.run_id = :run AND b.batch <= 100 ORDER BY min(b.ordinal) OVER (PARTITION BY b.setting), b.ordinal, b.batch;

-- chart: projection
-- title: Projection to 8,000 samples, extrapolated
-- mark: bar
-- x: variant
-- y: projected_ns
-- interval: low_ns high_ns
-- color: hosts
-- facet: setting
-- column: variant | Variant | text
-- column: projected_ns | Time (s) | s | 2
-- column: low_ns | From (s) | s | 2
-- column: high_ns | To (s) | s | 2
-- column: hosts | Hosts | text
-- column: setting | Setting | text
SELECT p.variant, p.projected_ns, p.projected_low_ns AS low_ns, p.projected_high_ns AS high_ns, plural(p.hosts, 'host') AS hosts, coalesce(nullif(trim(w.which, ' ()'), ''), p.setting) AS setting
FROM extraction_projection p JOIN extraction_named w USING (run_id, setting) WHERE p.run_id = :run
ORDER BY min(p.ordinal) OVER (PARTITION BY p.setting), p.ordinal, p.hosts;

-- Findings, in order of worth; a run of several settings names them.

-- finding: speedup
SELECT speedup_text(variant, 'sequential', base_ns / extract_ns, base_low_ns / extract_high_ns, base_high_ns / extract_low_ns) || ' for ' || plural(samples, 'sample') || which || '.' AS sentence
FROM extraction_all JOIN extraction_named USING (run_id, setting) WHERE run_id = :run AND has_base AND variant <> 'sequential' AND extract_ns > 0
ORDER BY ordinal LIMIT 2;

-- finding: bound
SELECT printf('%s is the slowest stage of the pipeline: %s of the %s that a batch takes', slowest, time_text(bound_ns), time_text(extract_ns / batches))
       || iif(efficiency IS NULL, '', printf('; between filling and draining it is at work for %.1f %% of the time', 100 * efficiency))
       || iif(efficiency_low IS NULL, '', printf(' (%.1f to %.1f)', 100 * efficiency_low, 100 * efficiency_high)) || which || '.' AS sentence
FROM extraction_all LEFT JOIN extraction_overlap USING (run_id, case_id) JOIN extraction_named USING (run_id, setting)
WHERE run_id = :run AND variant = 'pipelined' AND bound_ns > 0 AND extract_ns > 0 ORDER BY ordinal LIMIT 1;

-- finding: projection
SELECT printf('Extrapolated to 8,000 samples: %s', time_text(projected_ns)) || iif(projected_low_ns IS NULL, '', printf(' (%s to %s)', time_text(projected_low_ns), time_text(projected_high_ns)))
       || printf(' on one host with %s; four hosts are %.2f x as fast', variant, (SELECT one_ns / projected_ns FROM extraction_projection f WHERE f.run_id = p.run_id AND f.setting = p.setting AND f.variant = p.variant AND f.hosts = 4))
       || which || '.' AS sentence
FROM extraction_projection p JOIN extraction_named USING (run_id, setting) WHERE run_id = :run AND hosts = 1 ORDER BY variant <> 'pipelined', ordinal LIMIT 1;

-- finding: stored
SELECT printf('The files are %.2f x smaller than the activations', raw_bytes * 1.0 / stored_bytes)
       || coalesce(printf(', %.1f %% of what the entropy of their exponents allows', 100 * raw_bytes * 1.0 / stored_bytes / (SELECT avg(bound) FROM extraction_layer l WHERE l.case_id = a.case_id)), '') || which || '.' AS sentence
FROM extraction_all a JOIN extraction_named USING (run_id, setting) WHERE run_id = :run AND stored_bytes > 0 AND raw_bytes > stored_bytes ORDER BY variant <> 'pipelined', ordinal LIMIT 1;

-- finding: throughput
SELECT printf('%s extracts %g samples/s (%g to %g), %.3g GB/s of raw activations', variant, printf('%.3g', n / extract_ns), printf('%.3g', n / extract_high_ns), printf('%.3g', n / extract_low_ns),
              raw_bytes / extract_ns)
       || which || '.' AS sentence
FROM (SELECT *, coalesce(real_samples, samples) * 1e9 AS n FROM extraction_all) JOIN extraction_named USING (run_id, setting)
WHERE run_id = :run AND extract_low_ns > 0 AND raw_bytes > 0 ORDER BY n / extract_ns DESC LIMIT 1;

-- finding: first
SELECT printf('The first batch of %s takes %s, %s a steady one', variant, time_text(first_ns), ratio_text(first_ns / steady_ns, first_low_ns / steady_high_ns, first_high_ns / steady_low_ns))
       || which || '.' AS sentence
FROM extraction_all JOIN extraction_named USING (run_id, setting) WHERE run_id = :run AND steady_ns > 0 ORDER BY variant <> 'pipelined', ordinal LIMIT 1;
