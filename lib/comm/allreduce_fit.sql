-- What allreduce_fit.c reads of a run of ddp-bucket.

-- query: allreduce_timelines
SELECT c.case_id, c.experiment, c.device, json_remove(c.axes, '$.bucket_bytes', '$.first_bucket_bytes') AS fixed,
       c.axes ->> 'bucket_bytes', coalesce(c.axes ->> 'first_bucket_bytes', 0),
       coalesce(c.axes ->> 'split', 0), l.notes ->> 'timeline'
FROM v_case c JOIN v_slice l ON l.case_id = c.case_id
WHERE c.run_id = :run AND c.variant = 'bucket' AND c.status = 'ok' AND l.pass = 'timing' AND l.status = 'ok'
  AND json_type(l.notes, '$.timeline') = 'object'
ORDER BY c.device, fixed, c.case_id, l.invocation;

-- query: allreduce_cost
SELECT intercept, 2e9 / slope * (ranks - 1) / ranks, n, fixed
FROM (SELECT *, fixed ->> 'ranks' AS ranks FROM v_fit WHERE run_id = :run AND name = 'reduce_cost')
WHERE ranks > 1
ORDER BY n DESC, fixed;
