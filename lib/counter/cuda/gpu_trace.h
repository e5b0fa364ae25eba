/* GPU trace: kernels, copies and fills of an NVIDIA GPU from CUPTI's activity records. Used through counter/tracing.h.
 *
 * Records are put into buffers taken at opening, decoded after the iteration. Times are on the host's monotonic clock, which CUPTI
 * converts the GPU's to by interpolation: durations are the GPU's own, positions are estimates. When the host asked for a kernel is a
 * record of its own, with the same correlation number. One process has one trace at a time (CUPTI's callbacks know of no user). */
#pragma once

#include "counter/source.h"
#include "device/trace.h"

struct pk_gpu_trace;

/* PK_E_UNAVAILABLE: no library, another profiler, a GPU that cannot be traced. Rows go to `into`. */
enum pk_code pk_gpu_trace_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_trace *into,
                               struct pk_arena *a, struct pk_gpu_trace **out,
                               struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_gpu_trace_start(struct pk_gpu_trace *t, struct pk_err *err) PK_MUST_CHECK;
/* The device is idle. What CUPTI dropped is added to into->dropped. */
enum pk_code pk_gpu_trace_stop(struct pk_gpu_trace *t, struct pk_err *err) PK_MUST_CHECK;
/* Ends CUPTI, which would slow every launch after it. */
void pk_gpu_trace_close(struct pk_gpu_trace *t);
