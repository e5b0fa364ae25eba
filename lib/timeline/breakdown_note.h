/* Breakdown note: where the time of one iteration went, as the note "breakdown" of a trace pass. Views v_breakdown and v_kernel, the
 * tables `breakdown` and `breakdown_regions`, and what compare says of kernels are made from it.
 *
 *   {"whole": true,                                   false: pieces were dropped
 *    "folded": false,                                 those of attention that stores scores are declared with gemm (counter/breakdown.h)
 *    "regions":  [{"region", "calls", "occurrences", "time_ns", "busy_ns", "gap_ns",
 *                  "host_ns", "launch_ns"}],                          of a GPU: parts of gap_ns
 *    "overhead": [{"kind", "calls", "time_ns"}],                      of a GPU: by its profiler and its driver
 *    "families": [{"region", "family", "calls", "time_ns", "flops", "bytes"}],  declared (ops/ops.h)
 *    "kernels":  [{"region", "family", "name", "calls", "time_ns",      the PK_KERNELS_NOTED that took longest
 *                  "launch": {"grid", "block", "registers", "static_bytes", "dynamic_bytes", "local_bytes", "occupancy", "limited_by"}}]}
 *
 * A launch is that of the longest call of a GPU's kernel (struct pk_kernel_needs), without keys whose values are not known.
 * Regions are those of the marks, "iteration" (all kernels) and "outside" (kernels of no region). */
#pragma once

#include "counter/breakdown.h"
#include "timeline/spans.h"

enum { PK_KERNELS_NOTED = 64 };

/* The pieces of one name, family and region, summed; the longest first. */
struct pk_named_kernels {
    struct pk_named_kernel {
        struct pk_kernel longest; /* of its calls */
        size_t calls;
        uint64_t time_ns;
    } * v;
    size_t n;
};

/* In the arena; the rows of the trace may go, their names not. */
void pk_kernels_by_name(const struct pk_trace *t, struct pk_arena *a, struct pk_named_kernels *out);

/* The note. Regions are named by `name`, PK_WHOLE and PK_NO_REGION here. */
json_t *pk_breakdown_json(const struct pk_breakdown *b, const struct pk_named_kernels *named,
                          pk_region_name_fn *name, const void *user);
