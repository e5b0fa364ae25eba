/* Source: a source of counter readings, behind one table of functions.
 *
 * A source is asked in this order: check (what works here, cheap), list (its events), plan (which events go together, and in how
 * many passes; pure), then for each pass open, start, [begin, end]*, stop, read, close. A replaying source (PK_SOURCE_REPLAYS) wants the
 * work between start and stop repeated until `read` says that it is done. selftest runs work whose counts are known and compares.
 *
 * Nothing between start and stop allocates. A count that was not made is not 0: it is absent, with its reason. Everything outside
 * the process goes through pk_counter_env, so that each path is tested where there is no such hardware.
 *
 * States, masks and presets after docs/counters.md. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pk_perf;  /* perf/reader.h: the kernel's counters */
struct pk_cupti; /* cuda/cupti.h: NVIDIA's profiler */
struct pk_nvml;  /* cuda/nvml/nvml.h: the driver's management library */
struct pk_device;
struct rusage;

/* What is outside; tests give one of their own. NULL members stand for what this machine has. */
struct pk_counter_env {
    const char *root; /* where /proc and /sys are: "/" */
    const struct pk_perf *perf;
    int (*usage)(struct rusage *); /* of this process */
    const struct pk_cupti *cupti;
    const struct pk_nvml *nvml;
    unsigned gpu;     /* NVIDIA GPU that plans are for: CUDA's number */
    const char *chip; /* plan for this NVIDIA chip ("GH100"), which need not be here; NULL = that of `gpu` */
};
extern const struct pk_counter_env pk_counter_host;
const char *pk_counter_root(const struct pk_counter_env *env); /* never NULL */

enum pk_source_state { PK_SOURCE_OK, PK_SOURCE_DEGRADED, PK_SOURCE_UNAVAILABLE };

/* What was found of a source. */
struct pk_source_found {
    enum pk_source_state state;
    int error;       /* an errno or the vendor's code; 0 = none */
    const char *why; /* a sentence: what was found, or what is missing and why; never NULL */
    const char *fix; /* the command or setting that helps; NULL = nothing to do, or nothing can be done */
};

static inline struct pk_source_found pk_found(enum pk_source_state state, const char *why, const char *fix)
{
    return (struct pk_source_found){state, 0, why, fix};
}

/* How good a count is. The words stand in the store. */
enum pk_quality {
    PK_QUALITY_EXACT,       /* counts what its name says */
    PK_QUALITY_APPROXIMATE, /* near it: speculative, dispatched, mixed types; `note` says how */
};

/* What becomes of an event's values when work is repeated. */
enum pk_event_kind {
    PK_EVENT_SUM,   /* they add up: a sample of 8 repetitions counted 8 times as much */
    PK_EVENT_LEVEL, /* a peak, a share, a clock, a temperature: of 8 repetitions the same as of one */
    PK_EVENT_BITS,  /* a level whose samples are joined by or */
};

/* One event as it can be asked for. */
struct pk_event {
    const char *name;    /* perfkit's ("instructions"), or the raw name that was asked */
    const char *unit;    /* "1", "bytes", "ns", "J" */
    const char *summary; /* what it counts */
    const char *source;  /* name of the source */
    const char *native;  /* what is counted: "skx::INST_RETIRED:ANY_P"; "" = by the name */
    const char *modes;   /* "user", "user+kernel": when it counted; "" = the source knows no modes */
    enum pk_quality quality;
    const char *note; /* why it is approximate, or what else is to be known; "" */
    enum pk_event_kind kind;
};

/* One count. */
struct pk_reading {
    int64_t integer;
    double real;     /* where is_real */
    bool is_real;    /* the source gives no integers: percentages, watts */
    bool absent;     /* not counted: never scheduled, not supported by this unit, no region of that name */
    const char *why; /* absent: a constant sentence, "a peak is that of the whole iteration"; NULL = none */
    uint64_t enabled_ns, running_ns; /* 0, 0 = always counted; running < enabled: `integer` is scaled */
};

enum pk_source_caps {
    PK_SOURCE_REGIONS = 1,    /* can be read at the begin and end of a region */
    PK_SOURCE_PROCESS = 2,    /* counts this process and what it starts */
    PK_SOURCE_SYSTEM = 4,     /* counts others too: the whole socket, the whole GPU */
    PK_SOURCE_REPLAYS = 8,    /* work is repeated, pass after pass */
    PK_SOURCE_SERIALISES = 16 /* kernels that ran at once no longer do */
};

struct pk_source;

/* Events that are counted together, and how often the work is done for them. In the arena it was planned in. */
struct pk_source_plan {
    const struct pk_source *source;
    const struct pk_event *events;
    size_t n;
    unsigned passes;  /* of the work, for all its events; known before anything runs */
    void *state;      /* the source's own */
    const char *unit; /* what counts it: different units count at once. NULL = there is only one */
};

struct pk_source {
    const char *name;    /* "cpu-events"; ends the table when NULL */
    const char *summary; /* what it reads */
    unsigned caps;
    struct pk_source_found (*check)(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a);
    /* optional. Counts work whose answer is known; the sentence names both. */
    struct pk_source_found (*selftest)(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a);
    /* Every event it knows here, available or not: a constant table, or a function where they depend on the machine. pk_source_events
     * takes either. */
    const struct pk_event *events;
    size_t n_events;
    size_t (*list)(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_event **out);
    /* Splits the events into plans that each are counted at once, without multiplexing. PK_E_USAGE for an event it does not know,
     * PK_E_UNAVAILABLE for one that cannot be counted here, with reason and fix. */
    enum pk_code (*plan)(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *events, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err);
    enum pk_code (*open)(const struct pk_counter_env *env, const struct pk_source_plan *p,
                         struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err);
    /* In place of open, for a process that will call exec and for what it starts then; its counts are there once it has ended. The
     * other hooks are called as ever, but for mark. NULL: no process but ours, `ours` says why. */
    enum pk_code (*open_command)(const struct pk_counter_env *env, const struct pk_source_plan *p, pid_t pid,
                                 struct pk_arena *a, void **handle, struct pk_err *err);
    const char *ours;
    /* Before and after an iteration of the work. stop: *again = the work has to be repeated (PK_SOURCE_REPLAYS). */
    enum pk_code (*start)(void *handle, struct pk_err *err);
    enum pk_code (*stop)(void *handle, bool *again, struct pk_err *err);
    /* Of sources with PK_SOURCE_REGIONS, between start and stop, at each mark. Regions lie within each other and may overlap: each has all
     * that is counted from its begin to its end, what is counted within regions inside it too (and what reading at their marks
     * cost). One region is not open twice at once. It does not fail: read reports what went wrong. */
    void (*mark)(void *handle, unsigned region, bool end);
    /* The counts of the last iteration, summed over the occurrences of the region, or of the whole iteration (region < 0):
     * out[plan->n]. */
    enum pk_code (*read)(void *handle, int region, struct pk_reading *out, struct pk_err *err);
    void (*close)(void *handle); /* NULL = there is nothing to give back */
};

static inline void pk_source_close(const struct pk_source *s, void *handle)
{
    if (s->close)
        s->close(handle);
}

/* Every source in this build, cheapest first, NULL-terminated. "fake" counts what the null device was asked to do, for tests of the
 * harness; `list` leaves it out unless --all. */
extern const struct pk_source *const pk_sources[];
const struct pk_source *pk_source_find(const char *name);
size_t pk_source_events(const struct pk_source *s, const struct pk_counter_env *env, struct pk_arena *a,
                        const struct pk_event **out);
