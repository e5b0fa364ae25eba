-- Version 14: verdicts say which processes were slow.

-- slower-in-some: more processes of the new side than of the base lie apart from the others, in the slow direction. slow_base, slow_new: how
-- many of pairs + disturbed of each side; slow_size: the centre of the slow ones / that of the others (where the row has a difference in place
-- of a ratio, their difference); slow_found: the smallest share of slow processes, on the new side alone, that so many pairs find 8 times in
-- 10. NULL: no process lies apart, or a verdict from before this version.
CREATE TEMP TABLE old_verdict AS SELECT * FROM verdict;
DROP TABLE verdict;
CREATE TABLE verdict(
    new_case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    base_case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    verdict TEXT NOT NULL CHECK(verdict IN ('faster', 'slower', 'slower-in-some', 'same', 'undecided', 'unreplicated', 'unstable')),
    reason TEXT NOT NULL,
    ratio REAL,
    ratio_low REAL,
    ratio_high REAL,
    difference REAL,
    difference_low REAL,
    difference_high REAL,
    margin REAL NOT NULL CHECK(margin >= 0),
    min_change REAL,
    p REAL,
    p_adjusted REAL,
    mde REAL,
    needed INTEGER NOT NULL CHECK(needed >= -1),
    pairs INTEGER NOT NULL CHECK(pairs >= 0),
    disturbed INTEGER NOT NULL CHECK(disturbed >= 0),
    criteria TEXT NOT NULL CHECK(criteria GLOB '{*}'),
    slow_base INTEGER CHECK(slow_base >= 0),
    slow_new INTEGER CHECK(slow_new >= 0),
    slow_size REAL,
    slow_found REAL,
    PRIMARY KEY(new_case_id, base_case_id, metric_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX verdict_by_base ON verdict(base_case_id);
INSERT INTO verdict SELECT *, NULL, NULL, NULL, NULL FROM old_verdict;
DROP TABLE old_verdict;
ALTER TABLE baseline_verdict ADD COLUMN slow_base INTEGER CHECK(slow_base >= 0);
ALTER TABLE baseline_verdict ADD COLUMN slow_new INTEGER CHECK(slow_new >= 0);
ALTER TABLE baseline_verdict ADD COLUMN slow_size REAL;
ALTER TABLE baseline_verdict ADD COLUMN slow_found REAL;
