/* All-reduce fit: the cost of the all-reduces of a run, and the model's prediction for every bucket size, from the timelines of its
 * slices.
 *
 * For each setting (the cases of variant `bucket` that differ in bucket_bytes and first_bucket_bytes alone), as rows of the store:
 *   fit "reduce_cost": ns = bytes / w + o (comm/bucket_model.h), through the shortest all-reduce of each size between the least and the
 *     largest bucket_bytes. slope is ns per byte, intercept ns; n sizes.
 *   fit "gradients_produced": bytes = g * backward_ns: slope is bytes per ns, its interval that of the median over the slices.
 *   work of each case, metric exposed_ns, predicted: its buckets played through (comm/bucket_model.h) with o, w and the median time at
 *     which each gradient was ready.
 * A setting without three sizes in the window has no cost, and no predictions. */
#pragma once

#include "store/store.h"

enum pk_code pk_record_allreduce_fit(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                     struct pk_err *err) PK_MUST_CHECK;
