/* Command events: what the kernel and the processor count of a process and of everything it starts afterwards (perf_event).
 *
 * Each event is opened by itself, for all CPUs, with inherit: groups with inherit fail on old kernels, and a reset does not reach
 * what children counted. It counts from the next exec of the process, kernel mode included; where that is forbidden, user mode
 * alone, and the count says so. Events that happen in kernel mode (context switches) would then read 0: they are refused. When
 * the processor has fewer counters than events they take turns, and counts are scaled to the whole time. */
#pragma once

#include "counter/perf/access.h"

#include <stdint.h>

enum pk_cpu_modes {
    PK_MODES_SPLIT,  /* counts in user mode and in kernel mode, and either can be left out */
    PK_MODES_KERNEL, /* happens in kernel mode only */
    PK_MODES_WHOLE,  /* the kernel does not tell the modes apart, whatever it is asked */
};

struct pk_cpu_event {
    const char *name; /* of the metric: "task_clock_ns", "cycles" */
    const char *unit, *class, *summary;
    enum pk_cpu_modes modes;
    uint32_t type; /* of perf_event_attr, as the next */
    uint64_t config;
};

/* The kernel's events come first, the processor's behind them. */
enum { PK_KERNEL_EVENTS = 4, PK_CPU_EVENTS = 9 };
extern const struct pk_cpu_event pk_cpu_events[PK_CPU_EVENTS];

/* The count of the event of the same index. */
struct pk_cpu_count {
    int fd;    /* -1 = not open */
    int error; /* why it could not be opened or read, or EBUSY: it never counted; 0 = it can be, or was, read */
    bool user_only, scaled;
    int64_t value;
};

/* Opens every event for a process that will call exec; 0 = this one, to find out what opens. */
void pk_cpu_counts_open(struct pk_cpu_count counts[PK_CPU_EVENTS], pid_t pid,
                        const struct pk_counter_env *env);

/* Reads what was counted, once the process has ended. */
void pk_cpu_counts_read(struct pk_cpu_count counts[PK_CPU_EVENTS], const struct pk_counter_env *env);
void pk_cpu_counts_close(struct pk_cpu_count counts[PK_CPU_EVENTS], const struct pk_counter_env *env);

/* Why event i is not counted; only when it has an error. */
struct pk_perf_refusal pk_cpu_count_refusal(const struct pk_cpu_count *counts, size_t i,
                                            const struct pk_counter_env *env, struct pk_arena *a);
/* "cycles, instructions: REASON; page_faults: REASON" of those events from `from` to before `to` that have an error; "" = none. */
const char *pk_cpu_counts_absent(const struct pk_cpu_count *counts, size_t from, size_t to,
                                 const struct pk_counter_env *env, struct pk_arena *a);
