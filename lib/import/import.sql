-- Imported runs: the one that a file is, by the uuid that follows from its bytes.

-- query: imported_run
SELECT r.run_id, (SELECT count(*) FROM v_slice s WHERE s.run_id = r.run_id) FROM v_run r WHERE r.uuid = :uuid;
