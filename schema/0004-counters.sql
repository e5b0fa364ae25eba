-- Version 4: what counter passes counted, and what follows from it; a row per region and event or derived metric of a case.

CREATE TABLE counter(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    region TEXT NOT NULL,
    group_name TEXT NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    value REAL,
    source TEXT NOT NULL,
    native TEXT NOT NULL,
    quality TEXT NOT NULL CHECK(quality IN ('exact', 'approximate', 'derived')),
    modes TEXT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY(case_id, region, group_name, name)
) STRICT, WITHOUT ROWID;

-- Counting slows down: what was timed beside it never enters a statistic.
CREATE TRIGGER slice_summary_is_of_timing BEFORE INSERT ON slice_summary
WHEN (SELECT pass FROM slice WHERE id = NEW.slice_id) <> 'timing'
BEGIN
    SELECT RAISE(ABORT, 'only timing passes enter statistics');
END;
