/* Ceilings, cpu: micro-kernels timed over all threads, the best of several short runs. */
#include "ops/ceilings/ceilings.h"

#include "base/clock.h"
#include "base/err.h"
#include "device/cpu/cpu.h"
#include "machine/machine.h"
#include "ops/cpu/kernels.h"
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUNS = 8,
    AGREEING = 3, /* so many of them within `min_agreement` of the best are enough: it was not disturbed */
    RUN_NS = 15 * 1000 * 1000, /* of one compute run */
    EXP_FLOATS = 2048,         /* two arrays: in the L1 cache */
    PRODUCT_SIDE = 1024        /* of a product, per thread */
};

static const double min_agreement = 0.995;

struct probe {
    const struct pk_kernels *k;
    float *scratch;
    size_t scratch_floats; /* per thread */
    size_t steps;
};

static void peak_task(void *arg, size_t task, unsigned thread)
{
    const struct probe *p = arg;
    p->k->peak(p->steps, p->scratch + task * p->scratch_floats);
}

static void exp_task(void *arg, size_t task, unsigned thread)
{
    const struct probe *p = arg;
    float *x = p->scratch + task * p->scratch_floats, *y = x + EXP_FLOATS;
    for (size_t i = 0; i < EXP_FLOATS; i++)
        x[i] = -20.0f * (float)i / EXP_FLOATS;
    for (size_t s = 0; s < p->steps; s++)
        p->k->exp(x, y, EXP_FLOATS);
}

static uint64_t timed(struct pk_device *dev, pk_task_fn *task, struct probe *p, size_t tasks)
{
    uint64_t begin = pk_clock_ns();
    pk_cpu_parallel_for(dev, task, p, tasks);
    return pk_clock_ns() - begin;
}

/* Do the steps take a quarter of RUN_NS, undisturbed? One slow answer may be a thread that was kept waiting. */
static bool long_enough(struct pk_device *dev, pk_task_fn *task, struct probe *p)
{
    enum { TRIALS = 3 };
    for (int i = 0; i < TRIALS; i++)
        if (timed(dev, task, p, pk_cpu_threads(dev)) < RUN_NS / 4)
            return false;
    return true;
}

/* Steps per second on every thread at once: enough steps for RUN_NS, best of RUNS at most. */
static double best_steps_per_s(struct pk_device *dev, pk_task_fn *task, struct probe *p)
{
    const size_t threads = pk_cpu_threads(dev);
    double best = 0;
    p->steps = 16;
    while (!long_enough(dev, task, p))
        p->steps *= 2;
    p->steps *= 4;
    for (int run = 0, agreeing = 0; run < RUNS && agreeing < AGREEING; run++) {
        const double rate = (double)(p->steps * threads) / (double)timed(dev, task, p, threads) * 1e9;
        agreeing = rate * min_agreement > best ? 1 : agreeing + (rate >= min_agreement * best);
        best = fmax(best, rate);
    }
    return best;
}

static enum pk_code measure_compute(struct pk_device *dev, struct probe *p, struct pk_ceilings *out,
                                    struct pk_err *err)
{
    size_t floats = p->k->sgemm_scratch_floats();
    p->scratch_floats = floats > 2 * EXP_FLOATS ? floats : 2 * EXP_FLOATS;
    p->scratch =
        pk_device_alloc(dev, p->scratch_floats * pk_cpu_threads(dev) * sizeof(float), PK_TAG_WORKSPACE);
    if (!p->scratch)
        return pk_device_oom(dev, err);
    out->fp32_flops_per_s = best_steps_per_s(dev, peak_task, p) * p->k->peak(1, p->scratch);
    out->exp_per_s = best_steps_per_s(dev, exp_task, p) * EXP_FLOATS;
    pk_device_free(dev, p->scratch);
    return PK_OK;
}

/* c = a b of bf16 operands, as often as RUNS says; raises *rate to the best. */
static enum pk_code best_product(struct pk_device *dev, const struct pk_gemm *g, double *rate,
                                 struct pk_err *err)
{
    for (int run = 0; run < RUNS / 2; run++) {
        uint64_t begin = pk_clock_ns();
        if (pk_op_gemm(dev, g, err))
            return err->code;
        *rate = fmax(*rate, pk_work_gemm(g).flops / (double)(pk_clock_ns() - begin) * 1e9);
    }
    return PK_OK;
}

static void fill_bf16(uint16_t *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = pk_bf16_of_float(pk_fill_value(seed, i));
}

static enum pk_code measure_products(struct pk_device *dev, struct pk_ceilings *out, struct pk_err *err)
{
    const size_t rows = (size_t)PRODUCT_SIDE * pk_cpu_threads(dev), side = PRODUCT_SIDE;
    out->bf16_flops_per_s = out->fp32_flops_per_s;
    if (!pk_cpu_bf16(dev)->product)
        return PK_OK;
    uint16_t *a = pk_device_alloc(dev, rows * side * sizeof *a, PK_TAG_WORKSPACE),
             *b = pk_device_alloc(dev, side * side * sizeof *b, PK_TAG_WORKSPACE);
    float *c = pk_device_alloc(dev, rows * side * sizeof *c, PK_TAG_WORKSPACE);
    enum pk_code rc = a && b && c ? PK_OK : pk_device_oom(dev, err);
    if (!rc) {
        fill_bf16(a, rows * side, 1);
        fill_bf16(b, side * side, 2);
        rc = best_product(dev,
                          &(struct pk_gemm){.m = rows,
                                            .n = side,
                                            .k = side,
                                            .batch = 1,
                                            .alpha = 1,
                                            .a = a,
                                            .b = b,
                                            .c = c,
                                            .ab_type = PK_BF16,
                                            .c_type = PK_FP32},
                          &out->bf16_flops_per_s, err);
    }
    pk_device_free(dev, c);
    pk_device_free(dev, b);
    pk_device_free(dev, a);
    return rc;
}

enum pk_code pk_cpu_ceilings(struct pk_device *dev, bool one_lane, struct pk_ceilings *out,
                             struct pk_curves *curves, struct pk_err *err)
{
    struct probe p = {.k = pk_kernels_of(pk_cpu_isa(dev))};
    out->cache_bytes = (double)pk_machine_cache_bytes();
    if (measure_compute(dev, &p, out, err) || measure_products(dev, out, err))
        return err->code;
    return pk_cpu_curves(dev, one_lane, out, curves, err);
}
