-- Version 6: calibrations: what equal work, measured twice in turns, says of the noise. A row per metric of a case of the base.

-- Shares: 0.014 is 1.4 %. within_cv: between the samples of one process; NULL where processes give one. floor: the smallest change that a gate
-- tells from none; min_effect: the advised one; mde: the smallest worsening found with that.
CREATE TABLE calibration(
    case_id INTEGER NOT NULL REFERENCES run_case(id) ON DELETE CASCADE,
    metric_id INTEGER NOT NULL REFERENCES metric(id),
    pairs INTEGER NOT NULL CHECK(pairs >= 4),
    disturbed INTEGER NOT NULL CHECK(disturbed >= 0),
    ratio REAL NOT NULL,
    p REAL,
    between_cv REAL NOT NULL,
    within_cv REAL,
    pair_sd REAL NOT NULL,
    floor REAL NOT NULL,
    min_effect REAL NOT NULL,
    mde REAL NOT NULL,
    PRIMARY KEY(case_id, metric_id)
) STRICT, WITHOUT ROWID;
