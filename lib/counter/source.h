/* Source: a source of counter readings, behind one table of functions.
 *
 * Functions are called in this order: check (what works here; cheap), list (its events), plan (which events are counted together, in how
 * many passes; no side effects), then for each pass open, start, mark*, stop, read, close. A replaying source (PK_SOURCE_REPLAYS) needs
 * the work between start and stop repeated until stop sets *again to false. selftest runs work with known counts and compares.
 *
 * Nothing between start and stop allocates. A missing count is not 0: it is marked unavailable, with a reason. All access to the world
 * outside the process goes through pk_counter_env, so that each path can be tested without the hardware.
 *
 * docs/counters.md describes states, masks and presets. */
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
struct json_t;
struct rusage;

/* The world outside the process; tests replace it. NULL members = this machine's. */
struct pk_counter_env {
    const char *root; /* where /proc and /sys are: "/" */
    const struct pk_perf *perf;
    int (*usage)(struct rusage *); /* of this process */
    const struct pk_cupti *cupti;
    const struct pk_nvml *nvml;
    uint64_t usage_ns; /* from moment to moment of gpu-usage; 0 = its own */
    unsigned gpu;      /* NVIDIA GPU of the plans, by CUDA's number */
    const char
        *chip; /* plan for this NVIDIA chip ("GH100"), which need not be present; NULL = that of `gpu` */
};
extern const struct pk_counter_env pk_counter_host;
const char *pk_counter_root(const struct pk_counter_env *env); /* never NULL */

enum pk_source_state { PK_SOURCE_OK, PK_SOURCE_DEGRADED, PK_SOURCE_UNAVAILABLE };

/* The state of a source on this machine. */
struct pk_source_found {
    enum pk_source_state state;
    int error;       /* an errno or the vendor's code; 0 = none */
    const char *why; /* a sentence: what works, or what is missing and why; never NULL */
    const char *fix; /* the command or setting that helps; NULL = nothing to do, or nothing can be done */
};

static inline struct pk_source_found pk_found(enum pk_source_state state, const char *why, const char *fix)
{
    return (struct pk_source_found){state, 0, why, fix};
}

/* How exact a count is. The store contains the words. */
enum pk_quality {
    PK_QUALITY_EXACT,       /* counts exactly what its name says */
    PK_QUALITY_APPROXIMATE, /* counts something similar: speculative, dispatched, mixed types; `note` says what */
};

/* How an event's values combine over repetitions of the work. */
enum pk_event_kind {
    PK_EVENT_SUM,   /* they add up: a sample of 8 repetitions counted 8 times as much */
    PK_EVENT_LEVEL, /* a peak, a share, a clock, a temperature: of 8 repetitions the same as of one */
    PK_EVENT_BITS,  /* a level whose samples are joined by or */
};

/* One event that can be requested. */
struct pk_event {
    const char *name;    /* perfkit's ("instructions"), or the requested raw name */
    const char *unit;    /* "1", "bytes", "ns", "J" */
    const char *summary; /* what it counts */
    const char *source;  /* name of the source */
    const char *native;  /* the counted event: "skx::INST_RETIRED:ANY_P"; "" = as `name` */
    const char
        *modes; /* "user", "user+kernel": the CPU modes in which it counts; "" = the source has no modes */
    enum pk_quality quality;
    const char *note; /* why it is approximate, or another remark; "" = none */
    enum pk_event_kind kind;
};

/* One count. */
struct pk_reading {
    int64_t integer;
    double real;      /* where is_real */
    bool is_real;     /* the source gives no integers: percentages, watts */
    bool unavailable; /* not counted: never scheduled, not supported by this unit, no such region */
    const char
        *why; /* reason of unavailable, static text: "a peak is that of the whole iteration"; NULL = none */
    uint64_t enabled_ns, running_ns; /* 0, 0 = always counted; running < enabled: `integer` is scaled */
};

/* A process that is not ours, with the threads and children that it starts later. */
struct pk_other_process {
    pid_t pid;
    bool
        runs; /* counted from now on, with the threads that it has; false: from its next exec on, complete when it has ended */
};

enum pk_source_caps {
    PK_SOURCE_REGIONS = 1,    /* can be read at the begin and end of a region */
    PK_SOURCE_PROCESS = 2,    /* counts this process and what it starts */
    PK_SOURCE_SYSTEM = 4,     /* counts others too: the whole socket, the whole GPU */
    PK_SOURCE_REPLAYS = 8,    /* work is repeated, pass after pass */
    PK_SOURCE_SERIALISES = 16 /* kernels no longer run concurrently */
};

struct pk_source;

/* Events that are counted together, and the number of passes that this takes. In the arena of the planning call. */
struct pk_source_plan {
    const struct pk_source *source;
    const struct pk_event *events;
    size_t n;
    unsigned passes; /* passes over the work for all events, before anything runs */
    void *state;     /* of the source */
    const char
        *unit; /* the hardware unit: different units can count at the same time. NULL = there is only one */
};

struct pk_source {
    const char *name;    /* "cpu-events"; ends the table when NULL */
    const char *summary; /* what it reads */
    unsigned caps;
    struct pk_source_found (*check)(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a);
    /* optional. Counts work with a known result; the sentence names both numbers. */
    struct pk_source_found (*selftest)(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a);
    /* All its events, available or not: a constant table, or a function when they depend on the machine. pk_source_events handles both. */
    const struct pk_event *events;
    size_t n_events;
    size_t (*list)(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_event **out);
    /* Splits the events into plans; the events of a plan are counted together, without multiplexing. PK_E_USAGE for an unknown event,
     * PK_E_UNAVAILABLE for one that cannot be counted here, with reason and fix. */
    enum pk_code (*plan)(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *events, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err);
    enum pk_code (*open)(const struct pk_counter_env *env, const struct pk_source_plan *p,
                         struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err);
    /* Instead of open, for another process. The other hooks are the same, but mark is not called. NULL: only this process can be counted,
     * for the reason `ours`. */
    enum pk_code (*open_other)(const struct pk_counter_env *env, const struct pk_source_plan *p,
                               struct pk_other_process other, struct pk_arena *a, void **handle,
                               struct pk_err *err);
    const char *ours;
    /* Before and after an iteration of the work. stop: *again true = the work has to be repeated (PK_SOURCE_REPLAYS). */
    enum pk_code (*start)(void *handle, struct pk_err *err);
    enum pk_code (*stop)(void *handle, bool *again, struct pk_err *err);
    /* Called for sources with PK_SOURCE_REGIONS at each mark between start and stop. Regions may be nested and may overlap: the count of
     * a region is everything from its begin to its end, including inner regions (and the cost of reading at their marks). A region is
     * not open twice at the same time. It cannot fail: read reports errors. */
    void (*mark)(void *handle, unsigned region, bool end);
    /* The counts of the last iteration, summed over the occurrences of the region, or of the whole iteration (region < 0):
     * out[plan->n]. */
    enum pk_code (*read)(void *handle, int region, struct pk_reading *out, struct pk_err *err);
    /* optional. What was read over time, in all iterations: rows that begin with ns since the first began, for the note "moments". */
    struct json_t *(*moments)(void *handle);
    void (*close)(void *handle); /* NULL = nothing to release */
};

static inline void pk_source_close(const struct pk_source *s, void *handle)
{
    if (s->close)
        s->close(handle);
}

/* Every source in this build, cheapest first, NULL-terminated. "fake" counts the work declared on the null device, for tests of the
 * harness; `list` shows it only with --all. */
extern const struct pk_source *const pk_sources[];
const struct pk_source *pk_source_find(const char *name);
size_t pk_source_events(const struct pk_source *s, const struct pk_counter_env *env, struct pk_arena *a,
                        const struct pk_event **out);
