/* Ranges: CUPTI's range profiler on an open device, with user ranges, user replay, and one nesting level.
 *
 * open, then { start, [push, pop]*, stop } until stop sets *again to false. Every repetition pushes the same ranges. The first
 * repetition does not profile: it counts the ranges, because a range needs 16 to 500 KB of memory. If the profiler can hold fewer ranges
 * than an iteration has, the iteration is repeated for each part of them. */
#pragma once

#include "counter/cuda/chip.h"

struct pk_ranges {
    const struct pk_cupti *c;
    struct pk_device *dev;
    struct pk_arena *arena;
    struct pk_chip_counters chip;
    struct pk_chip_config config;
    CUpti_RangeProfiler_Object *profiler;
    uint8_t *data;
    size_t data_bytes, data_cap;
    size_t capacity; /* ranges of an iteration for which there is memory; 0 = not known yet */
    size_t room;     /* ranges that are counted in one repetition */
    size_t first;    /* index of the first range that is counted now */
    size_t pushed;   /* by this repetition */
    size_t n;        /* ranges of this iteration; 0 = no repetition of it has ended */
    double *values;  /* of one range */
    bool initialised, enabled, under_way; /* some passes are done, not all */
    bool in_range;
};

/* PK_E_UNAVAILABLE with reason and fix when this GPU, driver or user cannot count; nothing is left behind. */
enum pk_code pk_ranges_open(struct pk_ranges *r, const struct pk_cupti *c, struct pk_device *dev,
                            const char *const *metrics, size_t n, struct pk_arena *a,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_ranges_close(struct pk_ranges *r);

/* None of these allocates. CUPTI adds up ranges with equal names, so a range's name contains its index in the iteration: "2:NAME". pop
 * waits for the device. */
enum pk_code pk_ranges_start(struct pk_ranges *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_ranges_push(struct pk_ranges *r, const char *name, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_ranges_pop(struct pk_ranges *r, struct pk_err *err) PK_MUST_CHECK;

/* Calls fn for the complete ranges, with the value of each metric. More follow while *again is true. An error when a range was dropped
 * or repetitions differ. */
typedef void pk_range_fn(void *user, const char *name, const double *values);
enum pk_code pk_ranges_stop(struct pk_ranges *r, pk_range_fn *fn, void *user, bool *again,
                            struct pk_err *err) PK_MUST_CHECK;
