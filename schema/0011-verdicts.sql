-- Version 11: what gates concluded, so that it is shown again and not found again.

-- A row per metric of a pair of cases that a gate judged. Shares: 0.014 is 1.4 %. The ratio is new / base; where a figure is not positive
-- there is a difference in the unit of the metric instead. margin: the smallest change that counts, as a share; min_change: likewise in the
-- unit, when a threshold gives one. mde: the smallest worsening that would have been found. needed: more pairs that would probably decide
-- it; -1: no number of them. criteria: the rest of what it was judged by.
CREATE TABLE verdict(
    new_case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    base_case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    verdict TEXT NOT NULL CHECK(verdict IN ('faster', 'slower', 'same', 'undecided', 'unreplicated', 'unstable')),
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
    PRIMARY KEY(new_case_id, base_case_id, metric_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX verdict_by_base ON verdict(base_case_id);
