/* Reader: the system calls of perf events, why an event cannot be counted here and what to do, and readers: counters of the kernel, opened as groups that are each read at once: a group for every thread of this process (and what
 * it starts later), or one for each CPU of a list with everything that runs there.
 *
 * Counters run all the time from opening to closing; a reading is the difference of two group reads, so that nothing is switched in
 * timed code, and nothing is ever reset (a reset does not reach what threads that ended had counted). Not thread safe. */
#pragma once

#include "counter/source.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* --- system calls and their refusals ---------------------------------------------------------------------------------- */

struct perf_event_attr;

/* The system calls that are made; tests give some of their own. All answer -1 with errno when they fail. */
struct pk_perf {
    /* A descriptor: perf_event_open, close-on-exec. Process 0 is this thread, -1 every one (then a CPU is named); group -1 = leads. */
    int (*open)(struct perf_event_attr *attr, pid_t pid, int cpu, int group);
    ssize_t (*read)(int fd, void *into, size_t bytes);
    int (*enable)(int leader); /* the whole group */
    int (*close)(int fd);
};
extern const struct pk_perf pk_perf_host;

/* Opens; a kernel that knows less of the attributes than this build is asked again with what it knows (E2BIG). */
int pk_perf_open(const struct pk_perf *perf, struct perf_event_attr *attr, pid_t pid, int cpu, int group);

/* What the count was to be of: each needs another right. */
enum pk_perf_scope { PK_PERF_USER, PK_PERF_KERNEL, PK_PERF_SYSTEM };

/* What cpuinfo says; Arm's says nothing. */
bool pk_perf_in_guest(const char *root, struct pk_arena *a);

struct pk_perf_refusal {
    const char *reason;
    const char *advice; /* NULL = nothing to do, or nothing can be done */
};

/* What an errno of opening or of counting means here; EBUSY stands for counters that never got their turn. */
struct pk_perf_refusal pk_perf_refusal(const char *root, int error, enum pk_perf_scope scope,
                                       struct pk_arena *a);

/* What to do where there is no advice. */
#define PK_PERF_OMIT "omit it; `perfkit doctor` shows what can be counted"

/* The error of an event that was refused. */
enum pk_code pk_perf_refuse(const struct pk_counter_env *env, const char *event, int error,
                            enum pk_perf_scope scope, struct pk_arena *a, struct pk_err *err);

/* --- readers ---------------------------------------------------------------------------------------------------------- */

/* What the kernel calls an event. */
struct pk_perf_code {
    uint32_t type;
    uint64_t config, config1, config2;
};

struct pk_perf_group {
    const struct pk_perf_code *codes; /* the leader first */
    size_t n;
    bool user_only; /* leave kernel mode out */
    bool pinned;    /* a core's counters: all at once or none, which is tried when the group is opened */
    const int *cpus;
    size_t n_cpus;         /* 0 = this process */
    const uint32_t *types; /* with cpus: units that each count the codes, in place of their type */
    size_t n_types;        /* 0 = one, with the codes' own */
    bool part;             /* of one kind of cores: the raw count of what ran there is the count, be it 0 */
};

struct pk_perf_count {
    uint64_t raw;
    int64_t value;                   /* raw, scaled to the whole time */
    uint64_t enabled_ns, running_ns; /* summed over the groups */
    bool absent;                     /* somewhere it never ran: not 0, nobody looked */
};

struct pk_perf_reader;

/* 0, or the errno with which event *which was refused (EBUSY: opened, but never got its turn). Nothing is then left open. In the arena.
 * command: 0, or another process than ours, counted from its next exec on and with what it starts: without CPUs, in one group that is not
 * pinned, so that sharing with others shows as running < enabled. PK_NO_INHERITANCE where the kernel cannot. */
enum { PK_NO_INHERITANCE = EPROTONOSUPPORT, PK_TOO_MANY_THREADS = ENOBUFS };
int pk_perf_reader_open(const struct pk_counter_env *env, const struct pk_perf_group *g, pid_t command,
                        struct pk_arena *a, struct pk_perf_reader **out, size_t *which);
void pk_perf_reader_close(struct pk_perf_reader *r);
/* Opens and closes. */
int pk_perf_try(const struct pk_counter_env *env, const struct pk_perf_group *g, struct pk_arena *a);

/* Whether threads that are started once a reader is open are counted: kernels before 4.13 do not inherit groups. */
bool pk_perf_inherits(const struct pk_counter_env *env, struct pk_arena *a);

/* An iteration, and regions inside it, which may lie within each other. What goes wrong is remembered for pk_perf_reader_read. */
void pk_perf_reader_start(struct pk_perf_reader *r);
void pk_perf_reader_stop(struct pk_perf_reader *r);
void pk_perf_reader_mark(struct pk_perf_reader *r, unsigned region, bool end);

/* Event i over the occurrences of a region, or over the iteration (region < 0). Returns 0 or an errno. */
int pk_perf_reader_read(const struct pk_perf_reader *r, int region, size_t i, struct pk_perf_count *out);
