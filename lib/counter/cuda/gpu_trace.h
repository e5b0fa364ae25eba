/* GPU trace: kernels, copies and fills of an NVIDIA GPU from CUPTI's activity records. Used through counter/tracing.h.
 *
 * Records are put into buffers taken at opening, decoded after the iteration. CUPTI gives times on the system's clock, to which it converts
 * the GPU's by interpolation: durations are the GPU's own, positions are estimates. They are converted to the device's clock by the offset
 * of the two before and after each iteration. (CUPTI could be told to use another clock, but up to 13.0 kernels then have times of 0.) When
 * the host asked for a kernel is a record of its own, with the same correlation number.
 *
 * CUPTI is switched on by the first trace of a process, and stays on until pk_gpu_trace_end: up to 13.1, kernels of graphs have wrong
 * correlation numbers once it was switched on again. It makes launches slower, so a process that traces does nothing but tracing. One
 * process has one trace at a time (CUPTI's callbacks know of no user). */
#pragma once

#include "counter/source.h"
#include "device/trace.h"

struct pk_gpu_trace;

/* PK_E_UNAVAILABLE: no library, another profiler, a GPU that cannot be traced. Rows go to `into`. */
enum pk_code pk_gpu_trace_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_trace *into,
                               struct pk_arena *a, struct pk_gpu_trace **out,
                               struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_gpu_trace_start(struct pk_gpu_trace *t, struct pk_err *err) PK_MUST_CHECK;
/* The device is idle. What CUPTI dropped is added to into->dropped, and so is what it has no times of. PK_E_UNAVAILABLE where there is no
 * record at all, PK_E_INTERNAL where the system's clock was set meanwhile. */
enum pk_code pk_gpu_trace_stop(struct pk_gpu_trace *t, struct pk_err *err) PK_MUST_CHECK;
void pk_gpu_trace_close(struct pk_gpu_trace *t);
/* Switches CUPTI off for good: afterwards this process has neither traces nor counters of a GPU. No trace is open; nothing happens where
 * there was none. */
void pk_gpu_trace_end(void);

/* --- kernels: what one is called for people, and which family it is of, from its symbol ------------------------------- */

/* By patterns of perfkit's own files and of cuBLAS, cuDNN, NCCL, CUB and PyTorch: the first that fits; PK_FAMILY_OTHER when none does. */
enum pk_kernel_family pk_kernel_family_of(const char *symbol);

/* perfkit's own as file and function, "softmax.cu:forward_long", without what changes from build to build; another's nested name
 * without template arguments, "cublasLt::splitKreduce_kernel"; a name that is not mangled is its own. In the arena. */
const char *pk_kernel_name(const char *symbol, struct pk_arena *a);
