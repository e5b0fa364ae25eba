/* Link cost: the cost of an all-reduce as measured by a run of ddp-bucket; these are the constants of `plan bucket`. */
#pragma once

/* A run that tells it: for messages. */
#define PK_LINK_COST_COMMAND "perfkit run ddp-bucket --variant bucket --bucket-bytes 64KiB:64MiB:*4"

#include "store/store.h"

struct pk_link_cost {
    double launch_ns;       /* o */
    double bus_bytes_per_s; /* what a link carries: algbw * 2(R-1)/R, which other numbers of ranks share */
    int64_t sizes;          /* of all-reduces that they were fitted to */
    const char *setting;    /* JSON of the axes that its cases share */
    size_t settings;        /* that the run has; the one with most sizes counts, of several the first */
};

/* The fit "reduce_cost" of a run (bench/record/allreduce_fit.h). PK_E_NOTHING when it has none of two ranks or more. Text in `a`. */
enum pk_code pk_link_cost_of_run(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 struct pk_link_cost *out, struct pk_err *err) PK_MUST_CHECK;
