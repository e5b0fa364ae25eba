-- What nsys exports (`nsys export --type sqlite`), read by source/nsys.c. The file may be anybody's: only tables are read, and their columns are
-- of any type.

-- query: nsys_tables
SELECT name FROM main.sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE %' LIMIT 10000;

-- query: nsys_version
SELECT value FROM main.META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION' LIMIT 1;

-- query: nsys_product
SELECT value FROM main.META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION' LIMIT 1;

-- query: nsys_start
SELECT CAST(utcEpochNs AS TEXT) FROM main.TARGET_INFO_SESSION_START_TIME LIMIT 1;

-- query: nsys_gpu
SELECT name FROM main.TARGET_INFO_GPU ORDER BY id LIMIT 1;

-- start, end, a name, then what each kind has
-- query: nsys_kernels
SELECT start, "end", (SELECT value FROM main.StringIds s WHERE s.id = k.demangledName), deviceId, streamId, correlationId, globalPid
FROM main.CUPTI_ACTIVITY_KIND_KERNEL k;

-- query: nsys_copies
SELECT start, "end", copyKind, deviceId, streamId, correlationId, globalPid, bytes FROM main.CUPTI_ACTIVITY_KIND_MEMCPY;

-- query: nsys_fills
SELECT start, "end", 0, deviceId, streamId, correlationId, globalPid, bytes FROM main.CUPTI_ACTIVITY_KIND_MEMSET;

-- query: nsys_calls
SELECT start, "end", NULL, correlationId, globalTid FROM main.CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId > 0;

-- Ranges that were pushed and popped (59), and started and ended (60); those that did not end have no time.
-- query: nsys_ranges
SELECT start, "end", coalesce(text, (SELECT value FROM main.StringIds s WHERE s.id = n.textId)), globalTid FROM main.NVTX_EVENTS n
WHERE eventType IN (59, 60) AND "end" IS NOT NULL;
