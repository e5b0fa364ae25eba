/* Link cost: what an all-reduce takes, as a run of ddp-bucket measured it: the constants of `plan bucket`. */
#pragma once

#include "store/store.h"

struct pk_link_cost {
    double launch_ns;       /* o */
    double bus_bytes_per_s; /* what a link carries: algbw * 2(R-1)/R, which other numbers of ranks share */
    size_t settings;        /* of the run, whose medians these are */
};

/* Theil and Sen's line through the time of all all-reduces of a step over their number, for every setting that was measured with three
 * bucket sizes. PK_E_NOTHING when the run has none. */
enum pk_code pk_link_cost_of_run(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 struct pk_link_cost *out, struct pk_err *err) PK_MUST_CHECK;
