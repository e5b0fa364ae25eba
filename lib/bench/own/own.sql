-- Descriptors of own experiments: descriptor_setting.c.

-- query: descriptor_of_run
SELECT value FROM v_setting WHERE run_id = :run AND invocation = 0 AND key = 'descriptor';

-- query: descriptor_of_experiment
SELECT s.value, s.run_id FROM v_run r JOIN v_setting s ON s.run_id = r.run_id AND s.invocation = 0 AND s.key = 'descriptor'
WHERE r.experiment = :experiment ORDER BY r.run_id DESC LIMIT 1;
