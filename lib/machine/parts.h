/* Parts: what the files of lib/machine share. */
#pragma once

#include "machine/machine.h"

#include <hwloc.h>

/* --- topology, as hwloc knows it ------------------------------------------------------------------------------------ */

/* Fills sockets, cores, threads, numa_nodes and cache sizes. Below another root than "/" hwloc is told
 * through HWLOC_FSROOT. */
enum pk_code pk_topology_read(const char *root, struct pk_machine *m, struct pk_err *err) PK_MUST_CHECK;

void pk_topology_close(hwloc_topology_t *t); /* *t NULL is allowed */
#define PK_TOPOLOGY_CLEANUP __attribute__((cleanup(pk_topology_close)))

/* A machine's topology, or that of an XML text when it is given; io: with PCI devices. 0, or -1 with errno: *t is then to be closed all
 * the same. */
int pk_topology_open(const char *root, const char *xml, bool io, hwloc_topology_t *t);

/* The CPUs of the calling thread's affinity on this machine, ordered like pk_machine_cpus, which has no more than the quota pays for. */
unsigned pk_topology_allowed(unsigned *cpus, unsigned cap);

/* The CPUs of a topology, one of every core first; those in `allowed` alone unless it is NULL. Returns how many, at most cap. */
struct pk_cpu_mask;
unsigned pk_topology_by_core(hwloc_topology_t t, const struct pk_cpu_mask *allowed, unsigned *cpus,
                             unsigned cap);

/* --- control groups: their limits are in machine.h ------------------------------------------------------------------ */

/* Since the groups were made, over every level that can stop us. */
struct pk_quota_stops {
    bool known; /* some level has a quota controller that counts */
    int64_t stops, stopped_ns;
};
void pk_quota_stops_read(const char *root, struct pk_quota_stops *q);

/* --- what the kernel was told about clocks, threads per core and pages: texts as in struct pk_machine, "" where it says nothing --- */

const char *pk_policy_governor(const char *root, struct pk_arena *a);
const char *pk_policy_turbo(const char *root);
const char *pk_policy_smt(const char *root); /* "on": cores run two threads; "off": they do not, or cannot */
const char *pk_policy_thp(const char *root, struct pk_arena *a);

/* --- steal ---------------------------------------------------------------------------------------------------------- */

/* Steal time of the given CPUs in a text of /proc/stat, in ticks; -1 when none of them is in it. */
int64_t pk_steal_ticks(const char *stat, const unsigned *cpus, unsigned n);
