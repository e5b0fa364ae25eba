/* Perf access: opens events of the kernel and the processor, and says why an event cannot be counted here and what to do. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <sys/types.h>

struct perf_event_attr;

/* The system that is asked; tests give one of their own. */
struct pk_perf {
    /* A descriptor, or -1 with errno: perf_event_open for any CPU, without a group, close-on-exec. */
    int (*open)(struct perf_event_attr *attr, pid_t pid);
    const char *root; /* where /proc is: "/" */
};
extern const struct pk_perf pk_perf_host;

struct pk_perf_refusal {
    const char *absent; /* why */
    const char *advice; /* NULL = nothing to do, or nothing can be done */
};

/* What an errno of opening or of counting means; in_kernel: the event needs the right to count kernel mode. */
struct pk_perf_refusal pk_perf_refusal(const struct pk_perf *perf, int error, bool in_kernel,
                                       struct pk_arena *a);
