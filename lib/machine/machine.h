/* Machine: facts about the measuring machine. Topology through hwloc, the rest from /proc and /sys under a root directory that tests
 * replace ("/" is this host; "" and NULL mean the same). The only user of hwloc.h.
 *
 * Nothing here fails because a file is missing: a text that is not known is "", a number 0. Not thread safe
 * with setenv. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct pk_machine {
    const char *host, *cpu_model, *arch, *kernel, *os;
    unsigned sockets, cores, threads, numa_nodes; /* of the machine, not of what we may use */
    int64_t memory_bytes;
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* of one core, of one core, of one socket; 0 = unknown */
    const char *governor; /* cpufreq's; "mixed" when policies differ; "" without cpufreq, as in most VMs */
    const char *turbo;    /* "on", "off" */
    const char *thp;      /* transparent huge pages: "always", "madvise", "never" */
    const char *virt;     /* "kvm", "docker", "kvm+docker", ...; "none" = no sign of one */
    const char *compiler; /* that built perfkit */
    const char *isa;      /* "avx512", "avx2", "sve", "neon", "baseline" */
};

/* PK_E_INTERNAL when hwloc itself breaks. Takes about 4 ms. */
enum pk_code pk_machine_read(const char *root, struct pk_arena *a, struct pk_machine *m,
                             struct pk_err *err) PK_MUST_CHECK;

/* All last-level caches together; 32 MiB when the machine does not say. Reads the topology. */
int64_t pk_machine_cache_bytes(void);

/* A level of caches: the bytes of one, and how many there are. */
struct pk_cache {
    int64_t bytes;
    unsigned n;
};
/* L1 (data), L2, L3; {0} for a level that the machine does not report. Reads the topology. */
enum { PK_CACHE_LEVELS = 3 };
void pk_machine_caches(const char *root, struct pk_cache levels[PK_CACHE_LEVELS]);

/* Canonical JSON of everything that identifies the machine: one row in the store per distinct text. Volatile
 * things (load, free memory) are not in it. */
const char *pk_machine_json(const struct pk_machine *m, struct pk_arena *a);

/* How two machines differ, a sentence part per fact: "governor powersave → performance", "2 → 4 cores". Takes results of
 * pk_machine_json; anything but an object has no facts. In the arena. */
size_t pk_machine_diff(const char *base, const char *new_, struct pk_arena *a, const char *const **words);

/* The same for any other JSON objects of facts, by their names: "cuda_driver 12.4 → 13.0". */
size_t pk_facts_diff(const char *base, const char *new_, struct pk_arena *a, const char *const **words);

/* The topology as hwloc's XML, which lstopo reads; without I/O devices, whose lists are long and change with every plugged disk.
 * NULL when it is not known. */
const char *pk_machine_topology_xml(const char *root, struct pk_arena *a);

/* Cores this process may use (affinity mask, cgroup quota rounded up), one processing unit per core first. Writes at most cap OS indices
 * and returns how many: at least 1. Call it before binding: a bound thread may use only one. */
unsigned pk_machine_cpus(unsigned *cpus, unsigned cap);
/* Binds the calling thread to one OS index; false when the kernel refuses. */
bool pk_machine_bind(unsigned cpu);

/* The limits of control groups (v1, v2, any level above) for this process; page cache that can be dropped counts as free. */
struct pk_limits {
    int64_t memory_bytes;      /* the lowest limit; 0 = none */
    int64_t memory_left_bytes; /* of the level with the least left; meaningless without a limit */
    double cpus;               /* quota / period, the lowest; 0 = none */
};
void pk_machine_limits(const char *root, struct pk_limits *l);

/* min(cgroup memory left, MemAvailable); 0 = unknown. */
int64_t pk_machine_available_bytes(const char *root);

/* The time since boot for which the hypervisor ran another guest on the given CPUs; counted in ticks of 10 ms. False when it cannot be read.
 * Cheap enough for every 10 ms. */
bool pk_machine_steal(const unsigned *cpus, unsigned n, uint64_t *ns);

/* stopped_process.c: "stopped (SIGSTOP)" or "stopped by a debugger" of a process of this host; NULL = it is not, or is not known. */
const char *pk_machine_stop_reason(int pid);
/* The same of a process, those of its group, and all that they started: "process 12 (sleep) is stopped (SIGSTOP)", three at most. NULL =
 * none is stopped. It reads a file of each process of the host: not while something is measured. */
const char *pk_machine_family_stop_reason(int pid, struct pk_arena *a);

/* The clock that regions are timed with. */
struct pk_clock_facts {
    const char *source; /* the kernel's clocksource: "tsc" */
    uint64_t resolution_ns, cost_ns;
};
void pk_machine_clock(const char *root, struct pk_arena *a, struct pk_clock_facts *c);
