-- Version 12: how sure the interval of a summary is.

-- The exact probability with which ci_low to ci_high contains the median; NULL: approximate (few processes), or no interval. Intervals
-- from before this version are Student's, so approximate.
ALTER TABLE summary ADD COLUMN ci_level REAL;
