/* GPU trace: kernels, copies and fills of an NVIDIA GPU from CUPTI's activity records. Used through counter/tracing.h.
 *
 * Records go into buffers that are allocated at opening and decoded after the iteration. CUPTI's times are on the system clock,
 * converted from the GPU's clock by interpolation: durations are exact, positions are estimates. They are converted to the device's
 * clock by the offset between the two clocks before and after each iteration. (CUPTI can use another clock, but up to 13.0 kernels then
 * have times of 0.) The launch of a kernel by the host is a separate record with the same correlation number.
 *
 * CUPTI is switched on by the first trace of a process and stays on until pk_gpu_trace_end: up to 13.1, kernels of graphs have wrong
 * correlation numbers after it was switched on again. It makes launches slower, so a process that traces is used for tracing only. A
 * process has one trace at a time, because CUPTI's callbacks have no user pointer. */
#pragma once

#include "counter/source.h"
#include "device/trace.h"

struct pk_gpu_trace;

/* PK_E_UNAVAILABLE: no library, another profiler, a GPU that cannot be traced. Rows go to `into`. */
enum pk_code pk_gpu_trace_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_trace *into,
                               struct pk_arena *a, struct pk_gpu_trace **out,
                               struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_gpu_trace_start(struct pk_gpu_trace *t, struct pk_err *err) PK_MUST_CHECK;
/* The device is idle. Records that CUPTI dropped, and records without times, are added to into->dropped. PK_E_UNAVAILABLE when there is
 * no record at all, PK_E_INTERNAL when the system clock was set in the meantime. */
enum pk_code pk_gpu_trace_stop(struct pk_gpu_trace *t, struct pk_err *err) PK_MUST_CHECK;
void pk_gpu_trace_close(struct pk_gpu_trace *t);
/* Switches CUPTI off: afterwards this process can neither trace nor count on a GPU. No trace is open; does nothing if there was none. */
void pk_gpu_trace_end(void);

/* Adds a record of CUPTI_ACTIVITY_KIND_OVERHEAD to into->overhead when it began in this span of CUPTI's clock, and frees what the record
 * owns. */
void pk_gpu_overhead_add(struct pk_trace *into, const void *record, uint64_t from_ns, uint64_t to_ns);
/* Of one that is not added: frees alone. */
void pk_gpu_overhead_free(const void *record);
