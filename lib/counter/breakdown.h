/* Breakdown: the time of an iteration by region and family of kernels, with the idle time between them.
 *
 * Of GPUs and CPUs alike, from what counter/tracing.h wrote down. A kernel belongs to the region within which the host asked for it (the
 * innermost, by the marks of the same iteration): that is exact, however late it runs and however roughly a GPU's clock is converted.
 * Whatever a captured graph holds was asked for by its launch, so it belongs to the region around that, or to one marked within the graph. */
#pragma once

#include "device/mark.h"
#include "device/trace.h"

#include <stdbool.h>

/* Sets region and occurrence of every kernel with a known time of asking but those that are placed; the others are of no region. Kernels
 * are sorted by that time. Takes memory for a while: not in a timed region. */
void pk_breakdown_regions(struct pk_kernel *v, size_t n, const struct pk_marks *marks);

/* The same for kernels of a captured graph in which several regions are marked. Its launch asked for all of them, and is the host's time of all
 * its marks (bench/measure/sample.c): a kernel belongs to the region in which its middle is, by where the marks lie on the lane. The
 * clocks of marks and kernels may begin at different times, and differ in speed by 100 ppm. A kernel whose middle is nearer to a mark than
 * 0.5 us, the resolution of marks, may be counted in the neighbouring region. Kernels that the graph has outside of all marks shift the
 * places of the others. After pk_breakdown_regions; the device is idle. */
void pk_breakdown_replayed(struct pk_kernel *v, size_t n, struct pk_device *dev);

/* A kernel that the host asked for within an op is of the op's family, whatever its name tells. Both are sorted by when they were asked
 * for. Kernels of a captured graph keep theirs: the ops were asked for when it was captured. */
void pk_breakdown_families(struct pk_kernel *v, size_t n, const struct pk_trace *ops);

enum { PK_WHOLE = -2 }; /* region of the total: all kernels, whatever their region */

struct pk_family_time {
    int region; /* PK_WHOLE first, PK_NO_REGION last */
    enum pk_kernel_family family;
    size_t calls;
    uint64_t time_ns;            /* summed; kernels that run at once count each */
    struct pk_declared declared; /* by ops; without a call where none of its kernels is known */
    double share;                /* of the time of all the region's families */
};

struct pk_region_time {
    int region;
    size_t calls, occurrences;
    uint64_t time_ns; /* summed over families */
    uint64_t busy_ns; /* union of the kernels' intervals */
    uint64_t gap_ns;  /* idle between first and last kernel of an occurrence, summed over occurrences */
    int64_t copied_bytes;
};

struct pk_breakdown {
    const struct pk_family_time *families; /* by region, the longest family first */
    size_t n_families;
    const struct pk_region_time *regions; /* PK_WHOLE first; PK_NO_REGION, if there is such a kernel, last */
    size_t n_regions;
    bool whole;  /* false: pieces were dropped, so times and gaps are not those of the iteration */
    bool folded; /* attention's products are declared with gemm: names of kernels do not tell them apart */
};

/* Of one iteration's kernels, in any order. The result is in the arena. busy_ns + gap_ns of PK_WHOLE is what the iteration's timing
 * without a trace is held against. */
void pk_breakdown_make(const struct pk_trace *t, struct pk_arena *a, struct pk_breakdown *out);

/* A region with the regions inside it: all kernels that the host asked for between its begin and its end, where pk_breakdown_make has
 * those alone that it asked for in no inner one. After pk_breakdown_regions. Takes memory for a while. */
struct pk_region_time pk_breakdown_within(const struct pk_trace *t, const struct pk_marks *marks,
                                          unsigned region);
