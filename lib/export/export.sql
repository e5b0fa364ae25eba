-- Exports: the medians of a run, a row per case and metric.

-- query: export_medians
SELECT s.experiment, s.variant, s.device, s.identity, s.metric, s.unit, s.direction, s.median, s.ci_low, s.ci_high, s.n, s.invocations
FROM v_summary s JOIN v_case c ON c.case_id = s.case_id
WHERE s.run_id = :run AND c.status = 'ok' AND s.median IS NOT NULL ORDER BY s.ordinal, s.metric;
