/* Perf access: opens events of the kernel and the processor, and says why an event cannot be counted here and what to do. */
#pragma once

#include "base/arena.h"
#include "counter/source.h"

#include <stdbool.h>
#include <sys/types.h>

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
const struct pk_perf *pk_perf_of(const struct pk_counter_env *env);

/* Opens; a kernel that knows less of the attributes than this build is asked again with what it knows (E2BIG). */
int pk_perf_open(const struct pk_perf *perf, struct perf_event_attr *attr, pid_t pid, int cpu, int group);

/* What the count was to be of: each needs another right. */
enum pk_perf_scope { PK_PERF_USER, PK_PERF_KERNEL, PK_PERF_SYSTEM };

/* What cpuinfo says; Arm's says nothing. */
bool pk_perf_in_guest(const char *root, struct pk_arena *a);

struct pk_perf_refusal {
    const char *absent; /* why */
    const char *advice; /* NULL = nothing to do, or nothing can be done */
};

/* What an errno of opening or of counting means here; EBUSY stands for counters that never got their turn. */
struct pk_perf_refusal pk_perf_refusal(const char *root, int error, enum pk_perf_scope scope,
                                       struct pk_arena *a);

/* The error of an event that was refused. */
enum pk_code pk_perf_refuse(const struct pk_counter_env *env, const char *event, int error,
                            enum pk_perf_scope scope, struct pk_arena *a, struct pk_err *err);
