/* Ranges: CUPTI's range profiler on an open device: ranges of our own (UserRange), passes repeated by us (UserReplay), one nesting level.
 *
 * open, then { start, [push, pop]*, stop } until stop no longer asks for the iteration again. Every repetition pushes the same ranges.
 * The first repetition of all calls no profiler: it counts the ranges, because memory for a range is 16 to 500 KB. Where the profiler
 * takes fewer ranges at once than an iteration has, the iteration is repeated for each part of them. */
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
    size_t capacity; /* ranges of an iteration that there is room for; 0 = not known yet */
    size_t room;     /* ranges that are counted at once */
    size_t first;    /* of those that are counted now */
    size_t pushed;   /* by this repetition */
    size_t n;        /* ranges of this iteration; 0 = no repetition of it has ended */
    double *values;  /* of one range */
    bool initialised, enabled, under_way; /* some passes are done, not all */
    bool in_range;
};

/* PK_E_UNAVAILABLE with reason and fix where this GPU, driver or user may not count. Nothing is left behind then. */
enum pk_code pk_ranges_open(struct pk_ranges *r, const struct pk_cupti *c, struct pk_device *dev,
                            const char *const *metrics, size_t n, struct pk_arena *a,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_ranges_close(struct pk_ranges *r);

/* None of these allocates. CUPTI adds up ranges of equal names, so a range is given its place in the iteration as well: "2:NAME". pop
 * waits for the device. */
enum pk_code pk_ranges_start(struct pk_ranges *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_ranges_push(struct pk_ranges *r, const char *name, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_ranges_pop(struct pk_ranges *r, struct pk_err *err) PK_MUST_CHECK;

/* Calls fn for the ranges that are complete, with the value of each metric; until *again is false there are more to come. An error when
 * one was dropped, and when repetitions differ. */
typedef void pk_range_fn(void *user, const char *name, const double *values);
enum pk_code pk_ranges_stop(struct pk_ranges *r, pk_range_fn *fn, void *user, bool *again,
                            struct pk_err *err) PK_MUST_CHECK;
