/* Cupti: NVIDIA's profiler as a table of functions, opened at run time; tests put their own in pk_counter_env.
 *
 * Only the Host functions (cuptiProfilerHost*) work without a driver: they name chips, check metrics and count passes on any machine.
 * The others may be called only while the device is open: without a context cuptiRangeProfilerEnable crashes.
 *
 * A process can have one client of CUPTI, and a GPU's counters can have one user at a time: a second one gets an error with a fix
 * (pk_cupti_check). */
#pragma once

#include "counter/source.h"

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

/* X(name): every function of the library that perfkit calls. */
#define PK_CUPTI_CALLS(X)                                                                                    \
    X(cuptiGetResultString)                                                                                  \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiUnsubscribe)                                                                                      \
    X(cuptiFinalize)                                                                                         \
    X(cuptiGetTimestamp)                                                                                     \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityDisable)                                                                                  \
    X(cuptiActivityEnableDriverApi)                                                                          \
    X(cuptiActivityFlushAll)                                                                                 \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiActivityGetNumDroppedRecords)                                                                     \
    X(cuptiDeviceGetChipName)                                                                                \
    X(cuptiProfilerInitialize)                                                                               \
    X(cuptiProfilerDeInitialize)                                                                             \
    X(cuptiProfilerDeviceSupported)                                                                          \
    X(cuptiProfilerGetCounterAvailability)                                                                   \
    X(cuptiProfilerHostInitialize)                                                                           \
    X(cuptiProfilerHostDeinitialize)                                                                         \
    X(cuptiProfilerHostGetMetricProperties)                                                                  \
    X(cuptiProfilerHostConfigAddMetrics)                                                                     \
    X(cuptiProfilerHostGetConfigImageSize)                                                                   \
    X(cuptiProfilerHostGetConfigImage)                                                                       \
    X(cuptiProfilerHostGetNumOfPasses)                                                                       \
    X(cuptiProfilerHostEvaluateToGpuValues)                                                                  \
    X(cuptiRangeProfilerEnable)                                                                              \
    X(cuptiRangeProfilerDisable)                                                                             \
    X(cuptiRangeProfilerGetCounterDataSize)                                                                  \
    X(cuptiRangeProfilerCounterDataImageInitialize)                                                          \
    X(cuptiRangeProfilerSetConfig)                                                                           \
    X(cuptiRangeProfilerStart)                                                                               \
    X(cuptiRangeProfilerStop)                                                                                \
    X(cuptiRangeProfilerPushRange)                                                                           \
    X(cuptiRangeProfilerPopRange)                                                                            \
    X(cuptiRangeProfilerDecodeData)                                                                          \
    X(cuptiRangeProfilerGetCounterDataInfo)                                                                  \
    X(cuptiRangeProfilerCounterDataGetRangeInfo)

/* A parameter block called `p`; its size selects the version. */
#define PK_CUPTI_PARAMS(of, p) CUpti_##of##_Params p = {.structSize = CUpti_##of##_Params_STRUCT_SIZE}

#define PK_CUPTI_FIELD(name) __typeof__(&name) name;
struct pk_cupti {
    PK_CUPTI_CALLS(PK_CUPTI_FIELD)
    CUresult(CUDAAPI *cuCtxGetCurrent)(CUcontext *); /* the driver's; NULL without one */
    const char *path, *version;                      /* "13.0.1" */
};
#undef PK_CUPTI_FIELD

/* env->cupti, or the library of this machine, in the arena. PK_E_UNAVAILABLE. */
enum pk_code pk_cupti_open(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_cupti **out,
                           struct pk_err *err) PK_MUST_CHECK;

/* PK_OK, or the error: `what` failed ("counting on the GPU"), the reason, the fix, and rc as its number. */
enum pk_code pk_cupti_check(const struct pk_cupti *c, CUptiResult rc, const char *what,
                            struct pk_err *err) PK_MUST_CHECK;

/* PK_OK, or why the GPU's profiler cannot be used here, as far as this can be tested without a context: driver and GPU, the library, and
 * with `counters` whether the driver restricts them to administrators. */
enum pk_code pk_cupti_possible(const struct pk_counter_env *env, bool counters, struct pk_arena *a,
                               const struct pk_cupti **out, struct pk_err *err) PK_MUST_CHECK;

/* The context of the open device, on this thread. */
enum pk_code pk_cupti_context(const struct pk_cupti *c, CUcontext *ctx, struct pk_err *err) PK_MUST_CHECK;

/* Self-tests: known work on the first GPU, counted by these sources. */
struct pk_source_found pk_gpu_counters_selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                                struct pk_arena *a);
struct pk_source_found pk_gpu_trace_selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                             struct pk_arena *a);
