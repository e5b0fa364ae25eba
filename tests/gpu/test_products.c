/* Products: the matrix products of the reports' models in every type, FLOPs over the time they take. Prints a table; wrong results are
 * test_ops.c's affair, and a rate below its aim is told and no failure.
 *
 * Launches of one product follow each other: what of its operands fits the last-level cache is found there. */
#include "given.h"

#include "device/mark.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7, LAUNCHES = 10 }; /* the best run counts */

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static const struct type {
    const char *name;
    enum pk_dtype dtype;
    enum pk_math math;
    double aim_flops_per_s; /* of large products on an H100 or H200; 0: none was set */
    bool gpu;
} types[] = {
    {"fp32", PK_FP32, PK_MATH_IEEE, 0, false},
    {"tf32", PK_FP32, PK_MATH_TF32, 300e12, true},
    {"bf16", PK_BF16, PK_MATH_IEEE, 0, false},
};

/* y[tokens, out] = x W^T, and the two products of its backward pass. */
static const struct row {
    const char *name;
    size_t tokens, out, in;
} rows[] = {
    {"small q k v", 16384, 3 * 768, 768},  {"small gate up", 16384, 2 * 3072, 768},
    {"small down", 16384, 768, 3072},      {"small head", 16384, 10000, 768},
    {"large q k v", 8192, 3 * 1280, 1280}, {"large gate up", 8192, 2 * 5120, 1280},
    {"large down", 8192, 1280, 5120},      {"large head", 8192, 10000, 1280},
};

struct bench {
    struct pk_device *dev;
    const struct type *type;
    void *x, *w, *y;
    struct pk_err err;
};

static void must(const struct bench *b, enum pk_code rc)
{
    if (rc) {
        fprintf(stderr, "%s\n  why: %s\n", b->err.what, b->err.why);
        exit(EXIT_FAILURE);
    }
}

static void *take(struct bench *b, size_t bytes)
{
    void *x = pk_device_alloc(b->dev, bytes, PK_TAG_OTHER);
    if (!x)
        must(b, pk_device_oom(b->dev, &b->err));
    return x;
}

/* Uniform numbers: of zeros tensor cores would draw less power, and be faster. */
static void *operand(struct bench *b, size_t n)
{
    float *wide = take(b, n * sizeof *wide);
    must(b, pk_op_fill(b->dev, &(struct pk_fill){wide, 1, n, n, 1}, 1, &b->err));
    if (b->type->dtype == PK_FP32)
        return wide;
    const struct pk_adamw narrow = {
        .n = n, .passes = PK_ADAMW_NARROW, .p = wide, .narrow = take(b, n * sizeof(uint16_t))};
    must(b, pk_op_adamw(b->dev, &narrow, &b->err));
    must(b, pk_device_sync(b->dev, &b->err));
    pk_device_free(b->dev, wide);
    return narrow.narrow;
}

/* forward; gradient of x; gradient of W */
static struct pk_gemm product(const struct bench *b, const struct row *r, unsigned which)
{
    const struct pk_gemm g[] = {
        {.m = r->tokens, .n = r->out, .k = r->in, .tb = PK_T, .a = b->x, .b = b->w, .c = b->y},
        {.m = r->tokens, .n = r->in, .k = r->out, .a = b->y, .b = b->w, .c = b->x},
        {.m = r->out, .n = r->in, .k = r->tokens, .ta = PK_T, .a = b->y, .b = b->x, .c = b->w},
    };
    struct pk_gemm one = g[which];
    one.batch = 1;
    one.alpha = 1e-3f;
    one.ab_type = one.c_type = b->type->dtype;
    one.math = b->type->math;
    return one;
}

static double best_ns(struct bench *b, const struct pk_gemm *g, bool tiny)
{
    const int launches = tiny ? 1 : LAUNCHES;
    double best = INFINITY;
    for (int run = 0; run <= RUNS; run++) { /* the first makes what is only needed once */
        pk_marks_clear(&b->dev->marks);
        pk_mark_begin(b->dev, 0, PK_LANE_COMPUTE);
        for (int i = 0; i < launches; i++)
            must(b, pk_op_gemm(b->dev, g, &b->err));
        pk_mark_end(b->dev, 0, PK_LANE_COMPUTE);
        must(b, pk_device_sync(b->dev, &b->err));
        const double ns = fmax(1, (double)pk_mark_lane_ns(b->dev, &b->dev->marks.v[0])) / launches;
        best = run ? fmin(best, ns) : best;
    }
    return best;
}

/* Lines of one shape; the number of those below their aim. */
static int measure(struct bench *b, const struct row *r, bool tiny)
{
    static const char *const parts[] = {"forward", "of x", "of W"};
    int below = 0;
    b->x = operand(b, r->tokens * r->in);
    b->w = operand(b, r->out * r->in);
    b->y = operand(b, r->tokens * r->out);
    for (unsigned i = 0; i < COUNT(parts); i++) {
        const struct pk_gemm g = product(b, r, i);
        const double ns = best_ns(b, &g, tiny), rate = pk_work_gemm(&g).flops / ns * 1e9;
        const bool low = rate < b->type->aim_flops_per_s;
        printf("%-14s %-8s %-4s %6zu x %-5zu x %-5zu %10.1f us %8.2f TFLOP/s%s\n", r->name, parts[i],
               b->type->name, g.m, g.n, g.k, ns / 1e3, rate / 1e12, low ? "  below its aim" : "");
        fflush(stdout);
        below += low;
    }
    pk_device_free(b->dev, b->x);
    pk_device_free(b->dev, b->w);
    pk_device_free(b->dev, b->y);
    return below;
}

int main(int argc, char **argv)
{
    const struct given given = given_device(argc, argv);
    struct pk_device dev;
    struct bench b = {.dev = &dev};
    int below = 0;
    given_open(&dev, &given, &(struct pk_device_options){0});
    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            struct row r = rows[i];
            if (given.tiny)
                r.tokens = 24, r.out = 40, r.in = 16;
            b.type = &types[t];
            if (dev.kind == PK_DEVICE_CUDA || !b.type->gpu)
                below += measure(&b, &r, given.tiny);
        }
    given_close(&dev);
    printf("%d below their aim\n", below);
    return EXIT_SUCCESS;
}
