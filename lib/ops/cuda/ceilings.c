/* Ceilings: micro-kernels of the GPU, its rate of memory over size, and products of its tensor cores by cuBLASLt, timed by marks on the compute lane, the best of several
 * short runs. */
#include "ops/ceilings/ceilings.h"

#include "base/clock.h"
#include "device/cuda/cuda.h"
#include "ops/cuda/kernels.h"
#include "ops/ops.h"

#include <math.h>

enum {
    RUNS = 8,
    RUN_NS = 5 * 1000 * 1000, /* at least, of one compute run */
    STEPS_FIRST = 1024,
    STEPS_MOST = 1 << 28,
    BLOCKS_EACH = 8,        /* blocks a multiprocessor: all that fit */
    STREAM_NS = 100 * 1000, /* at least, of one run of a stream: so many launches in turn */
    LAUNCHES_MOST = 64,
    CURVE_S = 3,
    FIRST_PARTS = 16,    /* the first size of the curve is this part of the L2 cache */
    CACHE_MULTIPLE = 16, /* of each operand of a product */
    SIDE_MOST = 8192,    /* of a product */
    TENSOR_CORES = 80    /* from this capability on they take tf32 and bf16 */
};

struct ceiling_run {
    struct pk_device *dev;
    pk_stream s;
    float *sink;
    int blocks;
    size_t steps, launches;
    float *x, *y, *z;
    size_t n;
    struct pk_gemm product;
};

typedef enum pk_code launch_fn(const struct ceiling_run *b, struct pk_err *err);

static enum pk_code fma_peak(const struct ceiling_run *b, struct pk_err *err)
{
    return pk_cuda_check(b->dev, pk_k_fma_peak(b->s, b->sink, b->steps, b->blocks), "launching multiply-adds",
                         err);
}

static enum pk_code exp_peak(const struct ceiling_run *b, struct pk_err *err)
{
    return pk_cuda_check(b->dev, pk_k_exp_peak(b->s, b->sink, b->steps, b->blocks), "launching exponentials",
                         err);
}

static enum pk_code update(const struct ceiling_run *b, struct pk_err *err)
{
    return pk_op_scale(b->dev, PK_FP32, 1.0f, b->x, b->x, b->n, err);
}

static enum pk_code copy(const struct ceiling_run *b, struct pk_err *err)
{
    return pk_cuda_check(b->dev, pk_k_copy(b->s, b->x, b->y, b->n), "launching a copy", err);
}

static enum pk_code triad(const struct ceiling_run *b, struct pk_err *err)
{
    return pk_cuda_check(b->dev, pk_k_triad(b->s, b->x, b->y, b->z, 0.5f, b->n), "launching a triad", err);
}

static enum pk_code product(const struct ceiling_run *b, struct pk_err *err)
{
    return pk_op_gemm(b->dev, &b->product, err);
}

static enum pk_code copy2d(const struct ceiling_run *b, struct pk_err *err)
{
    const size_t bytes = b->n * sizeof(float);
    return pk_op_copy2d(b->dev, &(struct pk_copy2d){b->x, b->y, 1, bytes, bytes, bytes}, 1, err);
}

static enum pk_code timed(const struct ceiling_run *b, launch_fn *launch, double *ns, struct pk_err *err)
{
    pk_marks_clear(&b->dev->marks);
    pk_mark_begin(b->dev, 0, PK_LANE_COMPUTE);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; i < b->launches && !rc; i++)
        rc = launch(b, err);
    pk_mark_end(b->dev, 0, PK_LANE_COMPUTE);
    if (rc || pk_device_sync(b->dev, err))
        return err->code;
    *ns = fmax(1, (double)pk_mark_lane_ns(b->dev, &b->dev->marks.v[0]));
    return PK_OK;
}

/* Raises *rate to the best of RUNS; the first also makes what is only needed once. */
static enum pk_code best(const struct ceiling_run *b, launch_fn *launch, double work, double *rate,
                         struct pk_err *err)
{
    double ns;
    for (int run = 0; run <= RUNS; run++) {
        if (timed(b, launch, &ns, err))
            return err->code;
        if (run)
            *rate = fmax(*rate, work / ns * 1e9);
    }
    return PK_OK;
}

/* `each` of what is counted a thread and step. */
static enum pk_code best_peak(struct ceiling_run *b, launch_fn *launch, double each, double *rate,
                              struct pk_err *err)
{
    double ns = 0;
    for (b->steps = STEPS_FIRST; ns < RUN_NS && b->steps < STEPS_MOST; b->steps *= 2)
        if (timed(b, launch, &ns, err))
            return err->code;
    return best(b, launch, each * (double)b->steps * b->blocks * PK_PEAK_THREADS, rate, err);
}

static enum pk_code measure_compute(struct ceiling_run *b, struct pk_ceilings *out, struct pk_err *err)
{
    b->blocks = pk_cuda_traits(b->dev)->multiprocessors * BLOCKS_EACH;
    b->sink =
        pk_device_alloc(b->dev, (size_t)b->blocks * PK_PEAK_THREADS * sizeof *b->sink, PK_TAG_WORKSPACE);
    if (!b->sink)
        return pk_device_oom(b->dev, err);
    enum pk_code rc = best_peak(b, fma_peak, 2 * PK_PEAK_FMAS, &out->fp32_flops_per_s, err);
    if (!rc)
        rc = best_peak(b, exp_peak, PK_PEAK_EXPS, &out->exp_per_s, err);
    pk_device_free(b->dev, b->sink);
    return rc;
}

/* Raises *rate; launches follow each other so long that the first does not count. */
static enum pk_code best_stream(struct ceiling_run *b, launch_fn *launch, double bytes, double *rate,
                                struct pk_err *err)
{
    double ns = 0;
    enum pk_code rc = timed(b, launch, &ns, err);
    while (!rc && ns < STREAM_NS && b->launches < LAUNCHES_MOST) {
        b->launches *= 2;
        rc = timed(b, launch, &ns, err);
    }
    if (!rc)
        rc = best(b, launch, bytes * (double)b->launches, rate, err);
    b->launches = 1;
    return rc;
}

/* Of numbers that differ, as a case's do: what bits change has a part in how fast memory is. */
static enum pk_code measure_streams(struct ceiling_run *b, float *block, size_t bytes,
                                    double rate[PK_STREAMS], struct pk_err *err)
{
    static const struct {
        launch_fn *launch;
        enum pk_stream_kind kind;
        size_t arrays, passes;
    } rows[] = {{update, PK_STREAM_UPDATE, 1, 2},
                {copy, PK_STREAM_COPY, 2, 2},
                {copy2d, PK_STREAM_COPY, 2, 2},
                {triad, PK_STREAM_TRIAD, 3, 3}};
    const size_t all = bytes / sizeof(float);
    enum pk_code rc = pk_op_fill(b->dev, &(struct pk_fill){block, 1, all, all, 1}, 1, err);
    for (size_t i = 0; !rc && i < sizeof rows / sizeof *rows; i++) {
        b->n = all / rows[i].arrays / 4 * 4;
        b->x = block;
        b->y = b->x + b->n;
        b->z = b->y + b->n;
        rc = best_stream(b, rows[i].launch, (double)(rows[i].passes * b->n * sizeof(float)),
                         &rate[rows[i].kind], err);
    }
    return rc;
}

static enum pk_code measure_size(void *user, size_t bytes, double rate[PK_STREAMS], struct pk_err *err)
{
    struct ceiling_run *b = user;
    float *block = pk_device_alloc(b->dev, bytes, PK_TAG_WORKSPACE);
    if (!block)
        return pk_device_oom(b->dev, err);
    const enum pk_code rc = measure_streams(b, block, bytes, rate, err);
    pk_device_free(b->dev, block);
    pk_pool_trim(&b->dev->pool);
    return rc;
}

static enum pk_code measure_curve(struct ceiling_run *b, struct pk_ceilings *out, struct pk_curves *curves,
                                  struct pk_err *err)
{
    const size_t l2 = pk_cuda_traits(b->dev)->l2_bytes;
    const struct pk_curve_source s = {.lanes = (unsigned)pk_cuda_traits(b->dev)->multiprocessors,
                                      .cache_bytes[PK_LEVEL_L2] = (double)l2,
                                      .first_bytes = 1024 + l2 / FIRST_PARTS / 1024 * 1024,
                                      .least_bytes = PK_CURVE_CACHES * l2,
                                      .most_bytes = (b->dev->pool.limit - b->dev->pool.current) / 2,
                                      .time_ns = CURVE_S * PK_NS_PER_S,
                                      .measure = measure_size,
                                      .user = b};
    if (pk_curve_grow(&s, &curves->v[0], err))
        return err->code;
    curves->n = 1;
    pk_ceilings_of_curve(&curves->v[0], s.cache_bytes, out);
    return PK_OK;
}

/* *rate stays 0 without cuBLASLt. */
static enum pk_code best_product(struct ceiling_run *b, double *rate, struct pk_err *err)
{
    const enum pk_code rc = best(b, product, pk_work_gemm(&b->product).flops, rate, err);
    return rc == PK_E_UNAVAILABLE ? PK_OK : rc;
}

/* z = x y, then x = x y of both in bf16, which have room in z. */
static enum pk_code measure_products(struct ceiling_run *b, struct pk_ceilings *out, struct pk_err *err)
{
    size_t side = SIDE_MOST;
    while (side * side > b->n)
        side /= 2;
    if (pk_cuda_traits(b->dev)->capability < TENSOR_CORES)
        return PK_OK;
    b->product = (struct pk_gemm){.m = side,
                                  .n = side,
                                  .k = side,
                                  .batch = 1,
                                  .alpha = 1,
                                  .a = b->x,
                                  .b = b->y,
                                  .c = b->z,
                                  .math = PK_MATH_TF32};
    if (best_product(b, &out->tf32_flops_per_s, err))
        return err->code;
    uint16_t *const a = (uint16_t *)b->z, *const other = a + side * side;
    if (pk_cuda_check(b->dev, pk_k_narrow(b->s, b->x, a, side * side), "rounding to bf16", err) ||
        pk_cuda_check(b->dev, pk_k_narrow(b->s, b->y, other, side * side), "rounding to bf16", err))
        return err->code;
    b->product.ab_type = b->product.c_type = PK_BF16;
    b->product.a = a;
    b->product.b = other;
    b->product.c = b->x;
    return best_product(b, &out->bf16_flops_per_s, err);
}

static enum pk_code measure_arrays(struct ceiling_run *b, struct pk_ceilings *out, struct pk_err *err)
{
    b->n = CACHE_MULTIPLE * (size_t)out->cache_bytes / sizeof(float);
    float **const arrays[] = {&b->x, &b->y, &b->z};
    bool refused = false;
    for (size_t i = 0; i < 3; i++)
        refused |= !(*arrays[i] = pk_device_alloc(b->dev, b->n * sizeof(float), PK_TAG_WORKSPACE));
    const struct pk_fill v[] = {{b->x, 1, b->n, b->n, 1}, {b->y, 1, b->n, b->n, 2}};
    enum pk_code rc = refused ? pk_device_oom(b->dev, err) : pk_op_fill(b->dev, v, 2, err);
    if (!rc)
        rc = measure_products(b, out, err);
    for (size_t i = 0; i < 3; i++)
        pk_device_free(b->dev, *arrays[i]);
    pk_pool_trim(&b->dev->pool);
    return rc;
}

enum pk_code pk_cuda_ceilings(struct pk_device *dev, struct pk_ceilings *out, struct pk_curves *curves,
                              struct pk_err *err)
{
    struct ceiling_run b = {.dev = dev, .s = pk_cuda_stream(dev, PK_LANE_COMPUTE), .launches = 1};
    out->cache_bytes = (double)pk_cuda_traits(dev)->l2_bytes;
    if (measure_compute(&b, out, err) || measure_curve(&b, out, curves, err))
        return err->code;
    return measure_arrays(&b, out, err);
}
