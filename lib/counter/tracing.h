/* Tracing: records the work of a device, kernel by kernel or op by op, in separate passes.
 *
 * Every device records its ops (device/trace.h). On an NVIDIA GPU, kernels come from CUPTI's activity records (cuda/gpu_trace.h); on
 * other devices the ops are the pieces. Both are rows of struct pk_kernel, which breakdown.h sums by region and family. */
#pragma once

#include "counter/source.h"
#include "device/trace.h"

enum { PK_TRACE_DEFAULT = 1 << 16 }; /* pieces of an iteration */

struct pk_tracing;

/* PK_E_UNAVAILABLE with reason and fix when this device cannot be traced. Allocates everything that is needed. */
enum pk_code pk_tracing_open(const struct pk_counter_env *env, struct pk_device *dev, size_t cap,
                             struct pk_arena *a, struct pk_tracing **out, struct pk_err *err) PK_MUST_CHECK;
/* Before an iteration: clears the rows of the previous one. */
enum pk_code pk_tracing_start(struct pk_tracing *t, struct pk_err *err) PK_MUST_CHECK;
/* After it: waits for the device, sets the region of each row from dev->marks, which are still those of the iteration, and the family of
 * each GPU kernel from the op that launched it; the ops are (*out)->ops. Rows that did not fit are counted in `dropped`. Rows are valid
 * until the next start, their names as long as the tracing's arena. */
enum pk_code pk_tracing_stop(struct pk_tracing *t, const struct pk_trace **out,
                             struct pk_err *err) PK_MUST_CHECK;
void pk_tracing_close(struct pk_tracing *t);
/* After the last trace of this process, before its device is closed: ends the profiler, if it was started. */
void pk_tracing_end(void);
