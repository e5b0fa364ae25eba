/* Marks: when regions of work begin and end, and how much memory is live at a point.
 *
 * A region is named by a small number from the probe's (or the model's) table. It can occur many times in one iteration and overlap
 * others; occurrences are told apart by `instance`, counted per region and iteration in the order they begin. Each occurrence has two
 * times: on its lane (X_ns) and on the host between begin and end (X_host_ns). On a device that computes on the calling thread they are
 * equal by construction, and both are recorded. On PK_LANE_HOST, the work of the calling thread, both times are the host's and nothing
 * is recorded on the device.
 *
 * pk_mark_begin and pk_mark_end are the only calls inside timed regions; they write into arrays made by pk_marks_init and never
 * allocate. After an overflow the harness fails the slice. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pk_lane;
struct pk_device;

enum { PK_REGIONS_MAX = 64, PK_GAUGES_MAX = 32, PK_MARKS_DEFAULT = 1 << 16 };

struct pk_mark {
    uint16_t region;
    uint16_t instance;
    uint8_t lane;
    bool open;
    uint32_t reps;                       /* repetitions of the region's work in this occurrence */
    uint64_t begin_host_ns, end_host_ns; /* device clock as the host reads it */
    uint32_t begin_slot, end_slot;       /* device events when the kind records them */
    uint64_t range;                      /* of a profiler (pk_range_begin) */
};

/* A watcher that is called when regions begin and end: counters. Called outside of timed parts. */
struct pk_watcher {
    void (*mark)(void *user, unsigned region, bool end);
    void *user;
};

struct pk_marks {
    struct pk_mark *v;
    size_t n, cap;
    const char *const *names;         /* of regions, for profilers; NULL = none */
    bool recorded;                    /* the device records events at marks; made by pk_device_open */
    bool watched;                     /* a watcher or a profiler is notified of marks */
    const struct pk_watcher *watcher; /* see pk_marks_watch */
    uint16_t next_instance[PK_REGIONS_MAX];
    uint32_t next_slot;
    size_t n_open;
    bool overflow, unbalanced;
    uint32_t gauges;              /* one bit for each gauge that was set in this iteration */
    int64_t gauge[PK_GAUGES_MAX]; /* its last value */
};

/* pk_device_open makes room for PK_MARKS_DEFAULT occurrences. */
void pk_marks_init(struct pk_marks *m, struct pk_arena *a, size_t cap, bool recorded);
void pk_marks_clear(struct pk_marks *m); /* before an iteration */
void pk_marks_next_repeat(
    struct pk_marks *m); /* instances start again at 0; marks are kept (K repetitions) */

/* Sets the watcher of marks; NULL = none. */
void pk_marks_watch(struct pk_marks *m, const struct pk_watcher *w);

void pk_mark_begin(struct pk_device *dev, unsigned region, enum pk_lane lane);
void pk_mark_end(struct pk_device *dev, unsigned region, enum pk_lane lane);
/* Ends an occurrence with `reps` >= 1 repetitions of the region's work: the harness divides. */
void pk_mark_end_n(struct pk_device *dev, unsigned region, enum pk_lane lane, uint32_t reps);

/* Sets a gauge to the pool's current bytes (before_backward_bytes), or to an exact count (allocated objects). */
void pk_mark_bytes(struct pk_device *dev, unsigned gauge);
void pk_mark_value(struct pk_device *dev, unsigned gauge, int64_t value);

/* Lane time of a finished mark in ns; after pk_device_sync. */
uint64_t pk_mark_lane_ns(struct pk_device *dev, const struct pk_mark *m);

/* Named ranges for profilers (NVTX: nsys, ncu). Without a profiler they cost a test of a pointer, in builds without CUDA nothing. Ranges
 * may overlap. */
uint64_t pk_range_begin(const char *name);
void pk_range_end(uint64_t range);
