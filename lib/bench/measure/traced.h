/* Traced: what became of the time of the samples of a trace pass, by region, family and kernel. Inner part of measure.c.
 *
 * Each sample is one iteration, traced; the note "breakdown" is that of the sample whose kernels and gaps took the median of all:
 *   {"whole": true,                                   false: pieces were dropped
 *    "folded": false,                                 those of attention that stores scores are declared with gemm (breakdown.h)
 *    "regions":  [{"region", "calls", "occurrences", "time_ns", "busy_ns", "gap_ns"}],
 *    "families": [{"region", "family", "calls", "time_ns", "flops", "bytes"}],  declared (ops/work.h)
 *    "kernels":  [{"region", "family", "name", "calls", "time_ns"}]}    the PK_KERNELS_TOLD that took longest
 * Regions are the probe's, "iteration" (all kernels) and "outside" (kernels of no region). */
#pragma once

#include "bench/measure/sample.h"
#include "counter/breakdown.h"
#include "counter/tracing.h"

enum { PK_KERNELS_TOLD = 64 };

struct pk_traced;
struct pk_notes;

enum pk_code pk_traced_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_arena *a,
                            struct pk_traced **out, struct pk_err *err) PK_MUST_CHECK;
/* The samples that s takes from now on are traced. */
void pk_traced_attach(struct pk_traced *t, struct pk_sampler *s);
void pk_traced_pack(const struct pk_traced *t, struct pk_notes *notes);
void pk_traced_close(struct pk_traced *t);
