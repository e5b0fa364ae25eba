/* Gemm: a batch of products, one library call per problem and thread; problems are cut by rows when they are
 * too few. */
#include "ops/cpu/cpu_ops.h"

enum { ROWS_MIN = 32 }; /* a part with fewer is not worth a call */

struct gemm_job {
    const struct pk_gemm *g;
    const struct pk_cpu_run *run;
    size_t parts;
};

static void gemm_task(void *arg, size_t task, unsigned thread)
{
    const struct gemm_job *j = arg;
    const struct pk_gemm *g = j->g;
    const float *a = g->a, *b = g->b;
    float *c = g->c;
    size_t problem = task / j->parts, part = task % j->parts;
    size_t m0 = g->m * part / j->parts, m1 = g->m * (part + 1) / j->parts;
    if (m0 == m1)
        return;
    pk_cpu_sgemm(j->run, thread,
                 &(struct pk_sgemm){.a_trans = g->ta == PK_T,
                                    .b_trans = g->tb == PK_T,
                                    .m = m1 - m0,
                                    .n = g->n,
                                    .k = g->k,
                                    .alpha = g->alpha,
                                    .beta = g->beta,
                                    .a = a + problem * g->m * g->k + m0 * (g->ta == PK_T ? 1 : g->k),
                                    .b = b + problem * g->k * g->n,
                                    .c = c + (problem * g->m + m0) * g->n,
                                    .lda = g->ta == PK_T ? g->m : g->k,
                                    .ldb = g->tb == PK_T ? g->k : g->n,
                                    .ldc = g->n});
}

static void multiply(struct pk_device *dev, const void *job)
{
    const struct gemm_job *j = job;
    pk_cpu_parallel_for(dev, gemm_task, (void *)j, j->g->batch * j->parts);
}

enum pk_code pk_cpu_gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err)
{
    struct pk_cpu_run run;
    if (g->ab_type == PK_BF16)
        return pk_cpu_gemm_bf16(dev, g, err);
    if (pk_cpu_takes("gemm", g->ab_type, g->math, err) || pk_cpu_run_begin(dev, 0, &run, err))
        return err->code;
    const struct gemm_job j = {
        .g = g, .run = &run, .parts = pk_cpu_parts(pk_cpu_threads(dev), g->batch, g->m / ROWS_MIN)};
    pk_cpu_gemm_library(dev, g, &run, multiply, &j);
    multiply(dev, &j);
    pk_cpu_run_end(dev, &run);
    return PK_OK;
}
