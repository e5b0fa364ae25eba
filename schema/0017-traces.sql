-- Version 17: the timelines of slices have a table of their own. As notes they were parsed by every view of slices.
CREATE TABLE slice_trace(
    slice_id INTEGER NOT NULL REFERENCES slice(id) ON DELETE CASCADE,
    rank INTEGER NOT NULL CHECK(rank >= 0),
    json TEXT NOT NULL CHECK(json GLOB '{*}'),
    PRIMARY KEY(slice_id, rank)
) STRICT;

-- They were the notes "trace" and "trace:RANK".
INSERT OR IGNORE INTO slice_trace(slice_id, rank, json)
SELECT l.id, iif(n.key = 'trace', 0, CAST(substr(n.key, length('trace:') + 1) AS INTEGER)), n.value
FROM slice l, json_each(iif(json_valid(l.notes), l.notes, '{}')) n
WHERE n.type = 'object' AND (n.key = 'trace' OR n.key GLOB 'trace:[1-9]*');
UPDATE slice SET notes = json_patch(notes, (SELECT json_group_object(iif(t.rank, 'trace:' || t.rank, 'trace'), NULL) FROM slice_trace t WHERE t.slice_id = slice.id))
WHERE id IN (SELECT slice_id FROM slice_trace);
