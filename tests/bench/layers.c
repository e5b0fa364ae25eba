/* Layers benchmark: what passes over memory reach of a triad's bandwidth, z = x + 3 y, on arrays far larger than the caches. Each round
 * runs the triad before and after each op; ratios are paired with the better of the two, their medians are printed.
 *
 *     bench-layers [rounds [threads]]
 *
 * Wants an idle machine. With one thread, as it is by itself, it reads the thread's CPU time, so that others on the machine take less
 * from it. */
#include "base/clock.h"
#include "device/cpu/cpu.h"
#include "ops/cpu/kernels.h"
#include "ops/ops.h"

#include "timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 101, ROWS = 4096, COLS = 4096, N = ROWS * COLS, ARRAYS = 6, RUN = 1 << 15 };

static struct pk_device dev;
static float *array[ARRAYS]; /* N floats each */
static float w[COLS], rstd[ROWS], small[2 * COLS];
static int32_t token[ROWS];

static void triad_task(void *arg, size_t task, unsigned thread)
{
    const struct pk_kernels *k = arg;
    k->triad(array[0] + task * RUN, array[1] + task * RUN, array[2] + task * RUN, RUN);
}

static double triad_bytes_per_s(void)
{
    const struct pk_kernels *k = pk_kernels_of(pk_cpu_isa(&dev));
    const double begin = now_ns(&dev);
    pk_cpu_parallel_for(&dev, triad_task, (void *)k, N / RUN);
    return 12.0 * N / (now_ns(&dev) - begin) * 1e9;
}

static struct pk_work norm(enum pk_dtype type)
{
    const struct pk_norm n = {.rows = ROWS,
                              .cols = COLS,
                              .eps = 1e-5f,
                              .dtype = type,
                              .x = array[0],
                              .delta = array[1],
                              .sum = array[0],
                              .w = w,
                              .y = array[2],
                              .rstd = rstd};
    must(pk_op_norm(&dev, &n, &err));
    return pk_work_norm(&n);
}

static struct pk_work norm_backward(enum pk_dtype type)
{
    const struct pk_norm_backward n = {.rows = ROWS,
                                       .cols = COLS,
                                       .dtype = type,
                                       .s = array[0],
                                       .w = w,
                                       .rstd = rstd,
                                       .d_y = array[1],
                                       .d_s = array[2],
                                       .d_x = array[2],
                                       .d_w = small};
    must(pk_op_norm_backward(&dev, &n, &err));
    return pk_work_norm_backward(&n);
}

static struct pk_work heads(enum pk_dtype type)
{
    const struct pk_heads h = {.batch = ROWS / 256,
                               .seq = 256,
                               .heads = COLS / 64 / 2,
                               .dim = 64,
                               .parts = 2,
                               .rotated = 1,
                               .dtype = type,
                               .rope_table = array[5],
                               .rows = array[0],
                               .head = {array[1], array[1] + N / 2}};
    must(pk_op_split_heads(&dev, &h, &err));
    return pk_work_heads(&h);
}

static struct pk_work silu(enum pk_dtype type)
{
    must(pk_op_map(&dev, PK_MAP_SILU, type, array[0], NULL, array[1], N, &err));
    return pk_work_map(PK_MAP_SILU, type, N);
}

static struct pk_work glu(enum pk_dtype type)
{
    const struct pk_glu g = {ROWS, COLS, COLS, type, array[0], array[1], array[2]};
    must(pk_op_glu(&dev, &g, &err));
    return pk_work_glu(&g);
}

static struct pk_work glu_backward(enum pk_dtype type)
{
    const struct pk_glu_backward g = {ROWS,     COLS,     COLS,     type,     array[0],
                                      array[1], array[2], array[3], array[4], NULL};
    must(pk_op_glu_backward(&dev, &g, &err));
    return pk_work_glu_backward(&g);
}

static struct pk_work cross_entropy(enum pk_dtype type)
{
    const struct pk_cross_entropy x = {.rows = ROWS,
                                       .cols = COLS,
                                       .stride = COLS,
                                       .dtype = type,
                                       .logits = array[0],
                                       .targets = token,
                                       .losses = rstd,
                                       .scale = 1,
                                       .d_logits = array[1]};
    must(pk_op_cross_entropy(&dev, &x, &err));
    return pk_work_cross_entropy(&x);
}

static struct pk_work embed_backward(enum pk_dtype type)
{
    const struct pk_embed_backward e = {ROWS, COLS, ROWS, type, token, array[0], array[1]};
    must(pk_op_embed_backward(&dev, &e, &err));
    return pk_work_embed_backward(&e);
}

static struct pk_work adamw(enum pk_dtype type)
{
    static const struct pk_adamw_state state = {1e-4f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.9f, 0.95f};
    const struct pk_adamw a = {.n = N,
                               .passes = PK_ADAMW_FUSED | (type == PK_BF16 ? PK_ADAMW_NARROW : 0u),
                               .state = &state,
                               .p = array[0],
                               .m = array[1],
                               .v = array[2],
                               .g = array[3],
                               .g_type = type,
                               .narrow = (uint16_t *)array[4]};
    must(pk_op_adamw(&dev, &a, &err));
    return pk_work_adamw(&a);
}

static const struct {
    const char *name;
    struct pk_work (*run)(enum pk_dtype type);
} ops[] = {{"norm with residual", norm},
           {"norm backward", norm_backward},
           {"split heads, rotated", heads},
           {"silu", silu},
           {"glu", glu},
           {"glu backward", glu_backward},
           {"cross-entropy", cross_entropy},
           {"embed backward", embed_backward},
           {"adamw", adamw}};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Contents that are numbers in either type: whole bf16 pairs. */
static void fill(void)
{
    for (size_t i = 0; i < ARRAYS; i++)
        for (size_t k = 0; k < 2 * (size_t)N; k++)
            ((uint16_t *)array[i])[k] = pk_bf16_of_float(pk_fill_value(i, k) + 1.0f);
    for (size_t i = 0; i < ROWS; i++)
        token[i] = (int32_t)(i * 7 % ROWS), rstd[i] = 1;
    for (size_t i = 0; i < COLS; i++)
        w[i] = 1;
}

static void measure(size_t op, enum pk_dtype type, size_t rounds)
{
    double share[ROUNDS_MAX], rate[ROUNDS_MAX];
    for (size_t r = 0; r < rounds; r++) {
        const double before = triad_bytes_per_s(), begin = now_ns(&dev);
        const double bytes = ops[op].run(type).bytes;
        rate[r] = bytes / (now_ns(&dev) - begin) * 1e9;
        const double after = triad_bytes_per_s();
        share[r] = rate[r] / (before > after ? before : after);
    }
    qsort(share, rounds, sizeof *share, by_value);
    qsort(rate, rounds, sizeof *rate, by_value);
    printf("%-20s %s %6.2f GB/s %5.1f %% of a triad\n", ops[op].name, type == PK_BF16 ? "bf16" : "fp32",
           rate[rounds / 2] / 1e9, 100 * share[rounds / 2]);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 7;
    const unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        rounds = 7;
    must(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = threads}, &err));
    for (size_t i = 0; i < ARRAYS; i++)
        if (!(array[i] = pk_device_alloc(&dev, N * sizeof(float), PK_TAG_OTHER)))
            must(pk_device_oom(&dev, &err));
    for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
        for (int type = PK_FP32; type <= PK_BF16; type++) {
            fill();
            measure(op, (enum pk_dtype)type, rounds);
        }
    for (size_t i = 0; i < ARRAYS; i++)
        pk_device_free(&dev, array[i]);
    pk_device_close(&dev);
    return 0;
}
