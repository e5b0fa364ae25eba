-- The one table of selftest: how every case ended. docs/tables.md explains the directives.

-- table: outcomes
-- headline: 1
-- title: How the cases ended
-- column: variant | Variant | text
-- column: busy_ns
-- column: memory_bytes | Memory (KiB) | KiB | 0
-- column: status | Status | state
-- column: n | Samples
-- column: work_ns | Work (ms) | ms | 3
-- column: bytes_per_s | GB/s | GB/s | 3
-- column: peak_bytes | Peak (KiB) | KiB | 0
-- column: message | Message | text
SELECT c.variant, c.axes ->> 'busy_ns' AS busy_ns, c.axes ->> 'memory' AS memory_bytes, c.status, t.n, t.median AS work_ns,
       w.bytes * 1e9 / t.median AS bytes_per_s, p.median AS peak_bytes, c.message
FROM v_case c
LEFT JOIN v_summary t ON t.case_id = c.case_id AND t.metric = 'work_ns'
LEFT JOIN v_summary p ON p.case_id = c.case_id AND p.metric = 'peak_bytes'
LEFT JOIN v_work w ON w.case_id = c.case_id AND w.metric = 'work_ns'
WHERE c.run_id = :run
ORDER BY c.ordinal;
