/* Machine: what measured, as it was. Topology through hwloc, the rest from /proc and /sys under a root directory that tests
 * replace. The only user of hwloc.h. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct pk_machine {
    const char *host, *cpu_model, *arch, *kernel, *os;
    unsigned sockets, cores, threads, numa_nodes;
    int64_t memory_bytes;
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* of one core, of one core, of one socket; 0 = unknown */
    const char *governor, *turbo, *thp, *virt, *compiler;
    const char *isa; /* "avx512", "avx2", "baseline" */
};

enum pk_code pk_machine_read(const char *root, struct pk_arena *a, struct pk_machine *m, struct pk_err *err) PK_MUST_CHECK;

/* Canonical JSON of everything that identifies the machine: one row in the store per distinct text. Volatile things (load,
 * free memory) are not in it. */
const char *pk_machine_json(const struct pk_machine *m, struct pk_arena *a);

/* Cores this process may use (affinity mask, cgroup quota rounded up), one processing unit per core first. Writes at most cap
 * OS indices and returns how many. */
unsigned pk_machine_cpus(unsigned *cpus, unsigned cap);
/* Binds the calling thread to one OS index; false when the kernel refuses. */
bool pk_machine_bind(unsigned cpu);

/* min(cgroup memory left, MemAvailable). */
int64_t pk_machine_available_bytes(const char *root);

/* Counters of disturbance since boot for the given CPUs: steal time, and what else is running. Cheap enough for every 10 ms. */
struct pk_disturbance {
    uint64_t steal_ns;
    uint64_t involuntary_switches; /* of this process */
};
bool pk_machine_disturbance(const unsigned *cpus, unsigned n, struct pk_disturbance *d);

/* The working directory's repository: commit and dirty flag by asking git; commit NULL outside one or without git. */
void pk_machine_repository(struct pk_arena *a, const char **commit, int *dirty);
