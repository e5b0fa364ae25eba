/* Roofline: where a piece of work stands under the roofs of its device: what its arithmetic intensity lets it attain, which of the two
 * roofs that is, and how much of it was reached. As rows of v_counter, group "roofline".
 *
 *     attainable = min(peak_flops_per_s, peak_bytes_per_s * flops / bytes)
 *     share      = max(flops / peak_flops_per_s, bytes / peak_bytes_per_s) / time
 *
 * which is rate / attainable wherever there are FLOPs, and holds without them too. The peaks are the device's own measured ceilings. */
#pragma once

#include "ops/ceilings.h"
#include "store/store.h"

/* FLOPs or bytes of one iteration, and who says so. */
struct pk_roofline_amount {
    double value;       /* NaN = nobody knows */
    const char *source; /* "declared", or the source that counted it: "cpu-events" */
    const char *native; /* the events that were added up: "dram_read_bytes + dram_write_bytes" */
    bool approximate;
    size_t plan; /* counted: in which pass */
};

struct pk_roofline_work {
    double time_ns; /* of the timing passes */
    struct pk_roofline_amount flops, bytes;
    double
        tensor_flops; /* declared, of tensor cores, whatever their type: where there are some the roof is not known */
};

enum { PK_ROOFLINE_ROWS = 7 };
/* "flops", "bytes", "intensity", "flops_per_s", "attainable_flops_per_s", "share_of_roof", "memory_bound" (1, or 0: by computing) of a
 * region of a case. What is not known is NaN, with its reason. Returns how many rows: 0 when there is no time or no work. */
size_t pk_roofline_rows(const struct pk_roofline_work *w, const struct pk_ceilings *top, int64_t case_id,
                        const char *region, struct pk_counter_row out[PK_ROOFLINE_ROWS]);
