-- Version 16: how slow the slow samples of a process were.

-- The values that 90 and 99 % of a process's steady samples do not exceed; NULL: too few samples (10, 100), or from before this version.
ALTER TABLE slice_summary ADD COLUMN p90 REAL;
ALTER TABLE slice_summary ADD COLUMN p99 REAL;
