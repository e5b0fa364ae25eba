/* Tracing: records the work of a device, kernel by kernel or op by op, in separate passes.
 *
 * Every device writes down the ops that are asked of it (device/trace.h). An NVIDIA GPU's kernels are CUPTI's activity records
 * (cuda/gpu_trace.h); of every other device the ops are the pieces. Both are rows of struct pk_kernel; breakdown.h makes regions and
 * families of them. */
#pragma once

#include "counter/source.h"
#include "device/trace.h"

enum { PK_TRACE_DEFAULT = 1 << 16 }; /* pieces of an iteration */

struct pk_tracing;

/* PK_E_UNAVAILABLE with reason and fix where this device cannot be traced. Everything that is needed is taken here. */
enum pk_code pk_tracing_open(const struct pk_counter_env *env, struct pk_device *dev, size_t cap,
                             struct pk_arena *a, struct pk_tracing **out, struct pk_err *err) PK_MUST_CHECK;
/* Before an iteration: the rows of the one before are gone. */
enum pk_code pk_tracing_start(struct pk_tracing *t, struct pk_err *err) PK_MUST_CHECK;
/* After it: waits for the device, and gives each row its region by dev->marks, which still are those of the iteration, and each kernel of a
 * GPU the family of the op that asked for it; the ops are (*out)->ops. What did not fit is counted in dropped of either. Rows are valid until the next start; their names as long as the tracing's arena. */
enum pk_code pk_tracing_stop(struct pk_tracing *t, const struct pk_trace **out,
                             struct pk_err *err) PK_MUST_CHECK;
void pk_tracing_close(struct pk_tracing *t);
/* When nothing more will be traced in this process, and before its device is closed: ends the profiler, if one was begun. */
void pk_tracing_end(void);
