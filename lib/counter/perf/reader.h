/* Reader: the system calls of perf events, the reasons of their errors, and readers. A reader has groups of kernel counters, each read
 * with one call: a group for every thread of this process (and its later children), or one for each CPU of a list, with everything that
 * runs there.
 *
 * Counters run from opening to closing; a count is the difference of two group reads, so that nothing is switched in timed code.
 * Counters are never reset, because a reset does not clear the counts of ended threads. Not thread safe. */
#pragma once

#include "counter/source.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* --- system calls and their refusals ---------------------------------------------------------------------------------- */

struct perf_event_attr;

/* The system calls; tests replace them. All return -1 with errno when they fail. */
struct pk_perf {
    /* perf_event_open with close-on-exec; returns a descriptor. pid 0 = this thread, -1 = all on `cpu`; group -1 = a new group. */
    int (*open)(struct perf_event_attr *attr, pid_t pid, int cpu, int group);
    ssize_t (*read)(int fd, void *into, size_t bytes);
    int (*enable)(int leader); /* the whole group */
    int (*close)(int fd);
};
extern const struct pk_perf pk_perf_host;

/* Opens. When the kernel supports fewer attributes than this build (E2BIG), tries again with those that it supports. */
int pk_perf_open(const struct pk_perf *perf, struct perf_event_attr *attr, pid_t pid, int cpu, int group);

/* What is counted: each scope needs another permission. */
enum pk_perf_scope { PK_PERF_USER, PK_PERF_KERNEL, PK_PERF_SYSTEM };

/* True in a virtual machine, by /proc/cpuinfo; always false on Arm. */
bool pk_perf_in_guest(const char *root, struct pk_arena *a);

struct pk_perf_refusal {
    const char *reason;
    const char *advice; /* NULL = nothing to do, or nothing can be done */
};

/* The reason behind an errno of opening or counting; EBUSY = the counters were never scheduled. */
struct pk_perf_refusal pk_perf_refusal(const char *root, int error, enum pk_perf_scope scope,
                                       struct pk_arena *a);

/* The fix when there is no advice. */
#define PK_PERF_OMIT "omit it; `perfkit doctor` shows what can be counted"

/* The error for an event that cannot be opened. */
enum pk_code pk_perf_refuse(const struct pk_counter_env *env, const char *event, int error,
                            enum pk_perf_scope scope, struct pk_arena *a, struct pk_err *err);

/* --- readers ---------------------------------------------------------------------------------------------------------- */

/* The kernel's code of an event. */
struct pk_perf_code {
    uint32_t type;
    uint64_t config, config1, config2;
};

struct pk_perf_group {
    const struct pk_perf_code *codes; /* the leader first */
    size_t n;
    bool user_only; /* count user mode only */
    bool pinned;    /* core counters: all are scheduled together or opening fails */
    const int *cpus;
    size_t n_cpus;         /* 0 = this process */
    const uint32_t *types; /* with cpus: units that each count the codes; they replace the codes' type */
    size_t n_types;        /* 0 = one unit, of the codes' type */
    bool part;             /* of one kind of cores: the raw count is not scaled, even if it is 0 */
};

struct pk_perf_count {
    uint64_t raw;
    int64_t value;                   /* raw, scaled to the whole time */
    uint64_t enabled_ns, running_ns; /* summed over the groups */
    bool unavailable;                /* never scheduled in some group: unknown, not 0 */
};

struct pk_perf_reader;

/* Returns 0, or the errno for event *which (EBUSY: opened, but never scheduled); nothing is then left open. In the arena. other.pid: 0 =
 * this process; else, without CPUs, groups that are not pinned, so that sharing the counters shows as running < enabled.
 * PK_NO_INHERITANCE when the kernel does not support it. */
enum { PK_NO_INHERITANCE = EPROTONOSUPPORT, PK_TOO_MANY_THREADS = ENOBUFS };
int pk_perf_reader_open(const struct pk_counter_env *env, const struct pk_perf_group *g,
                        struct pk_other_process other, struct pk_arena *a, struct pk_perf_reader **out,
                        size_t *which);
void pk_perf_reader_close(struct pk_perf_reader *r);
/* Opens and closes a reader, as a test. */
int pk_perf_try(const struct pk_counter_env *env, const struct pk_perf_group *g, struct pk_arena *a);

/* True when threads that are started after opening are counted: kernels before 4.13 do not inherit groups. */
bool pk_perf_inherits(const struct pk_counter_env *env, struct pk_arena *a);

/* An iteration, and regions inside it, which may be nested. pk_perf_reader_read returns their errors. */
void pk_perf_reader_start(struct pk_perf_reader *r);
void pk_perf_reader_stop(struct pk_perf_reader *r);
void pk_perf_reader_mark(struct pk_perf_reader *r, unsigned region, bool end);

/* Event i over the occurrences of a region, or over the iteration (region < 0). Returns 0 or an errno. */
int pk_perf_reader_read(const struct pk_perf_reader *r, int region, size_t i, struct pk_perf_count *out);
