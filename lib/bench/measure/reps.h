/* Reps: how often a region and a sample are repeated so that the clock can tell them. Inner part of measure.c. */
#pragma once

#include "bench/measure/sample.h"

/* An occurrence of a repeatable region, and a sample's regions together, are to last at least this long. */
#define PK_SAMPLE_MIN_NS 20000.0
enum { PK_SAMPLE_REPS_MAX = 10000, PK_REGION_REPS_MAX = 20000 };

/* Chooses ctx->reps of the regions that are repeatable, then s->reps; takes how many samples that needs and keeps none. Returns
 * through *runs how often the probe ran. The samples of a probe with a reset hook are not repeated, nor anything
 * on a cold device (the second repetition would find the first one's data in the caches), nor are regions in which
 * no time passes. unit_overhead_ns: what to subtract for one repetition of a region (repeat.h). */
enum pk_code pk_sampler_calibrate(struct pk_sampler *s, double unit_overhead_ns, int64_t *runs,
                                  struct pk_err *err) PK_MUST_CHECK;
