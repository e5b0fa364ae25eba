/* Adamw: the optimizer's step over runs of values. */
#include "ops/cpu/cpu_ops.h"

enum pk_code pk_cpu_adamw_tick(struct pk_device *dev, struct pk_adamw_state *state, struct pk_err *err)
{
    state->beta1_t *= state->beta1;
    state->beta2_t *= state->beta2;
    return PK_OK;
}

static void adamw_run(const struct pk_cpu_pass *p, size_t run)
{
    const struct pk_adamw *a = p->op;
    const size_t begin = run * PK_CPU_RUN;
    p->kernels->adamw(a, begin, begin + pk_cpu_run_length(a->n, run));
}

enum pk_code pk_cpu_adamw(struct pk_device *dev, const struct pk_adamw *a, struct pk_err *err)
{
    pk_cpu_each_run(dev, a, a->n, adamw_run);
    return PK_OK;
}
