/* All-reduce fit: the cost of the all-reduces of a run, and the model's prediction for every bucket size, from the timelines of its
 * slices.
 *
 * For each setting (the cases of variant `bucket` that differ in bucket_bytes and first_bucket_bytes alone), as rows of the store:
 *   fit "reduce_cost": ns = bytes / w + o (comm/bucket_model.h), through the shortest all-reduce of each size between the least and the
 *     largest bucket_bytes. slope is ns per byte, intercept ns; n sizes.
 *   fit "gradients_produced": bytes = g * backward_ns: slope is bytes per ns, its interval that of the median over the slices, on logs.
 *   work of each case, metric exposed_ns, predicted: its buckets simulated (comm/bucket_model.h) with o, w and the median time at which each gradient was ready.
 * A setting with fewer than three sizes in the window has no cost and no predictions. */
#pragma once

#include "store/store.h"

/* The hook `derive` of ddp-bucket. Reads the notes "timeline" of slices, in which times are ns since the backward pass began:
 *   {"backward_ns": when it ended, "tensors": [[bytes, ready_ns], ...], in the order of readiness
 *    "reduces": [[bytes, ready_ns, started_ns, ended_ns, least_ns], ...]}
 * started: when the transport began it; least: the shortest time from started to ended over all iterations. */
enum pk_code pk_derive_allreduce_fit(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                     struct pk_err *err) PK_MUST_CHECK;

/* A run that measures the cost of an all-reduce: for messages. */
#define PK_LINK_COST_COMMAND "perfkit run ddp-bucket --variant bucket --bucket-bytes 64KiB:64MiB:*4"

/* The cost of an all-reduce: the constants of `plan bucket`. */
struct pk_link_cost {
    double launch_ns; /* o */
    double
        bus_bytes_per_s; /* bus bandwidth: algbw * 2(R-1)/R, which does not depend on the number of ranks */
    int64_t sizes;       /* all-reduce sizes of the fit */
    const char *setting; /* JSON of the axes that its cases share */
    size_t settings;     /* settings of the run; the one with most sizes is used, of several the first */
};

/* The fit "reduce_cost" of a run. PK_E_NOTHING when it has none of two ranks or more. Text in `a`. */
enum pk_code pk_link_cost_of_run(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 struct pk_link_cost *out, struct pk_err *err) PK_MUST_CHECK;
