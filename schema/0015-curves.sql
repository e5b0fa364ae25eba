-- Version 15: the rate of memory over the size of the arrays.

-- 0: of one size, as every ceiling before this version, or a rate that does not depend on a size. 1 to 62: of sizes up to 2^evidence bytes
-- (rounded down), at which the rate may still fall. 63: of sizes up to those from which on it does not fall. The highest value with the
-- most evidence counts.
ALTER TABLE ceiling ADD COLUMN evidence INTEGER NOT NULL DEFAULT 0 CHECK(evidence BETWEEN 0 AND 63);

-- A row per size of a repeat of measuring the ceilings of a device: bytes of all arrays together, and what each way to walk them reached
-- with so many lanes at once. stop: of the largest size, why there is no larger one. The columns of the key come first, in its order: the
-- integrity check of SQLite 3.40 takes one column of a table without rowid for another where they do not.
CREATE TABLE curve(
    machine_id INTEGER NOT NULL REFERENCES machine(id),
    device TEXT NOT NULL,
    measured_ns INTEGER NOT NULL,
    lanes INTEGER NOT NULL CHECK(lanes >= 1),
    bytes INTEGER NOT NULL CHECK(bytes >= 1),
    level TEXT NOT NULL CHECK(level IN ('L1', 'L2', 'L3', 'between', 'memory')),
    update_bytes_per_s REAL,
    copy_bytes_per_s REAL,
    triad_bytes_per_s REAL,
    read_bytes_per_s REAL,
    stop TEXT CHECK(stop IN ('flat', 'room', 'time')),
    PRIMARY KEY(machine_id, device, measured_ns, lanes, bytes)
) STRICT, WITHOUT ROWID;
