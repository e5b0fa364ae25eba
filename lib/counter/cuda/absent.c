/* Absent: what stands for lib/counter/cuda in builds without the CUDA Toolkit or without CUPTI's headers. */
#include "counter/cuda/gpu_trace.h"

enum pk_code pk_gpu_trace_open(const struct pk_counter_env *env, struct pk_device *dev, struct pk_trace *into,
                               struct pk_arena *a, struct pk_gpu_trace **out, struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "kernels of the GPU cannot be traced");
    pk_why(err, "CUPTI's headers were not there when perfkit was built");
    return pk_fix(err, "add them to the CUDA Toolkit and build again");
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
