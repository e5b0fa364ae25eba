-- Version 3: the topology of a machine as hwloc's XML, without I/O devices, once per machine; and views of what slices note about the
-- state of the machine.
CREATE TABLE topology(
    machine_id INTEGER PRIMARY KEY REFERENCES machine(id),
    xml TEXT NOT NULL
) STRICT;
