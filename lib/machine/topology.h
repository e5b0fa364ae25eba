/* Topology: what hwloc knows of the machine. Used by lib/machine only. */
#pragma once

#include "machine/machine.h"

/* Fills sockets, cores, threads, numa_nodes and cache sizes. Below another root than "/" hwloc is told
 * through HWLOC_FSROOT. */
enum pk_code pk_topology_read(const char *root, struct pk_machine *m, struct pk_err *err) PK_MUST_CHECK;
