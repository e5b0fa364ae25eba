/* Breakdown: the time of an iteration by region and family of kernels, with the idle time between them.
 *
 * For GPUs and CPUs, from the rows of counter/tracing.h. A kernel belongs to the innermost region that was open when the host launched
 * it (by the marks of the same iteration). This is exact, even when the kernel runs later and the conversion of the GPU's clock is
 * rough. Kernels of a captured graph are launched by the graph's launch: they belong to the region around it, or to one that is marked
 * within the graph. */
#pragma once

#include "device/mark.h"
#include "device/trace.h"

#include <stdbool.h>

/* Sets region and occurrence of every kernel that is not placed yet; PK_NO_REGION for kernels without a launch time. Sorts the kernels
 * by launch time. Allocates temporary memory: not in a timed region. */
void pk_breakdown_regions(struct pk_kernel *v, size_t n, const struct pk_marks *marks);

/* The same for kernels of a captured graph with several marked regions. The graph's launch is the host time of all its kernels and marks
 * (bench/measure/sample.c), so a kernel belongs to the region that contains its middle, by the positions of the marks on the lane. The
 * clocks of marks and kernels may start at different times and differ in speed by 100 ppm. A kernel whose middle is within 0.5 us of a
 * mark (the resolution of marks) may be counted in the neighbouring region. Kernels of the graph outside all marks shift the positions
 * of the others. Call after pk_breakdown_regions, with the device idle. */
void pk_breakdown_replayed(struct pk_kernel *v, size_t n, struct pk_device *dev);

/* A kernel that the host launched within an op gets the op's family, whatever its own name is. Kernels and ops are sorted by launch
 * time. Kernels of a captured graph keep their family: their ops ran at the capture. */
void pk_breakdown_families(struct pk_kernel *v, size_t n, const struct pk_trace *ops);

enum { PK_WHOLE = -2 }; /* region of the total: all kernels, whatever their region */

struct pk_family_time {
    int region; /* PK_WHOLE first, PK_NO_REGION last */
    enum pk_kernel_family family;
    size_t calls;
    uint64_t time_ns;            /* sum over kernels; concurrent kernels each count */
    struct pk_declared declared; /* declared by ops; calls is 0 when none of the kernels is recognised */
    double share;                /* of the time of all the region's families */
};

struct pk_region_time {
    int region;
    size_t calls, occurrences;
    uint64_t time_ns; /* summed over families */
    uint64_t busy_ns; /* union of the kernels' intervals */
    uint64_t gap_ns;  /* idle between first and last kernel of an occurrence, summed over occurrences */
    /* Parts of it, for kernels whose launch is known: until the host began to launch the next one, and from there until that ran. */
    uint64_t host_ns, launch_ns;
    int64_t copied_bytes;
};

struct pk_breakdown {
    const struct pk_family_time *families; /* by region, the longest family first */
    size_t n_families;
    const struct pk_region_time *regions; /* PK_WHOLE first; PK_NO_REGION, if there is such a kernel, last */
    size_t n_regions;
    bool whole;    /* false: rows were dropped, so times and gaps are incomplete */
    bool launched; /* the host launched them: a GPU's */
    struct pk_overhead overhead[PK_OVERHEADS];
    bool folded; /* attention's products are declared with gemm: kernel names do not distinguish them */
};

/* Of one iteration's kernels, in any order. In the arena. busy_ns + gap_ns of PK_WHOLE is compared with the iteration's time without a
 * trace. */
void pk_breakdown_make(const struct pk_trace *t, struct pk_arena *a, struct pk_breakdown *out);

/* A region including the regions inside it: all kernels that the host launched between its begin and its end; pk_breakdown_make counts a
 * kernel only in the innermost region. Call after pk_breakdown_regions. Allocates temporary memory. */
struct pk_region_time pk_breakdown_within(const struct pk_trace *t, const struct pk_marks *marks,
                                          unsigned region);
