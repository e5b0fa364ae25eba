/* Ranges: CUPTI's range profiler on an open device: ranges of our own (UserRange), passes repeated by us (UserReplay), one nesting level.
 *
 * open, then for each iteration { start, [push, pop]*, stop } until stop wants no more, then decode. Every pass pushes the same ranges. */
#pragma once

#include "counter/cuda/chip.h"

struct pk_ranges {
    const struct pk_cupti *c;
    struct pk_device *dev;
    struct pk_chip_counters chip;
    struct pk_chip_config config;
    CUpti_RangeProfiler_Object *profiler;
    uint8_t *data;
    size_t data_bytes, pushed;            /* ranges of this pass */
    double *values;                       /* of one range */
    bool initialised, enabled, under_way; /* some passes are done, not all */
};

/* PK_E_UNAVAILABLE with reason and fix where this GPU, driver or user may not count. Nothing is left behind then. */
enum pk_code pk_ranges_open(struct pk_ranges *r, const struct pk_cupti *c, struct pk_device *dev,
                            const char *const *metrics, size_t n, struct pk_arena *a,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_ranges_close(struct pk_ranges *r);

/* None of these allocates. The name of a range is copied. pop waits for the device. */
enum pk_code pk_ranges_start(struct pk_ranges *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_ranges_push(struct pk_ranges *r, const char *name, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_ranges_pop(struct pk_ranges *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_ranges_stop(struct pk_ranges *r, bool *again, struct pk_err *err) PK_MUST_CHECK;

/* Tells every range of the iteration, with the value of each metric. An error when one was dropped. */
typedef void pk_range_fn(void *user, const char *name, const double *values);
enum pk_code pk_ranges_decode(struct pk_ranges *r, pk_range_fn *fn, void *user,
                              struct pk_err *err) PK_MUST_CHECK;
