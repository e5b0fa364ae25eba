/* No CUPTI: replaces lib/counter/cuda in builds without the CUDA Toolkit or without CUPTI's headers. */
#include "counter/cuda/gpu_trace.h"
#include "counter/cuda/nvml/nvml.h"
#include "counter/sources.h"

#include "base/build.h"

static const char *missing_headers(void)
{
    const char *unavailable = pk_feature("cuda")->unavailable;
    return unavailable ? unavailable : "perfkit was built without the headers of CUPTI";
}

static const char *enable(void)
{
    const char *cuda = pk_feature("cuda")->enable;
    return cuda ? cuda : "add CUPTI to the CUDA Toolkit, and build perfkit again";
}

enum pk_code pk_gpu_trace_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_trace *into,
                               struct pk_arena *a, struct pk_gpu_trace **out, struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "kernels of the GPU cannot be traced");
    pk_why(err, "%s", missing_headers());
    return pk_fix(err, "%s", enable());
}

enum pk_code pk_gpu_trace_start(struct pk_gpu_trace *t, struct pk_err *err)
{
    return PK_OK;
}

enum pk_code pk_gpu_trace_stop(struct pk_gpu_trace *t, struct pk_err *err)
{
    return PK_OK;
}

void pk_gpu_trace_close(struct pk_gpu_trace *t)
{
}

void pk_gpu_trace_end(void)
{
}

enum pk_code pk_nvml_open(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_nvml **out,
                          struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "NVML is not available");
    pk_why(err, "%s", missing_headers());
    return pk_fix(err, "%s", enable());
}

void pk_nvml_close(const struct pk_nvml *m)
{
}

enum pk_code pk_nvml_device_of(const struct pk_nvml *m, struct pk_device *dev, pk_nvml_device *out,
                               struct pk_err *err)
{
    return pk_fail(err, PK_E_UNAVAILABLE, "this build has no NVML");
}

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    return pk_found(PK_SOURCE_UNAVAILABLE, missing_headers(), enable());
}

#define SOURCE_UNAVAILABLE(id, called, what)                                                                 \
    const struct pk_source id = {.name = called,                                                             \
                                 .summary = what,                                                            \
                                 .check = check,                                                             \
                                 .plan = pk_source_plan_table,                                               \
                                 .ours = "this build has no CUPTI"}

SOURCE_UNAVAILABLE(pk_source_gpu_counters, "gpu-counters", "hardware counters of an NVIDIA GPU, by CUPTI");
SOURCE_UNAVAILABLE(pk_source_gpu_trace, "gpu-trace", "kernels and copies of an NVIDIA GPU, by CUPTI");
SOURCE_UNAVAILABLE(pk_source_gpu_state, "gpu-state",
                   "clocks, power, temperature and throttling of an NVIDIA GPU, by NVML");
SOURCE_UNAVAILABLE(pk_source_gpu_usage, "gpu-usage",
                   "power and utilisation of an NVIDIA GPU over time, by NVML");
