-- Version 13: what gates against stored runs concluded.

-- A row per metric of a case of the judged run, as in `verdict`. The base may be several runs, and of another file: base is its name as it was
-- given ("main", "other.db:nightly", "3,4,7,8,9"), base_runs are the run ids that it stood for in its file when it was judged, with commas. A
-- later gate of the same run against the same name replaces the rows.
CREATE TABLE baseline_verdict(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    base TEXT NOT NULL,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    base_runs TEXT NOT NULL,
    judged_ns INTEGER NOT NULL,
    verdict TEXT NOT NULL,
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
    PRIMARY KEY(case_id, base, metric_id)
) STRICT, WITHOUT ROWID;
