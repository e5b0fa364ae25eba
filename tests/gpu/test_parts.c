/* Parts: flash attention of few blocks, with what a block sees cut into parts and whole, in the same process. Prints a table; results of
 * the two must agree, and parts that are slower are told and no failure. For builds with CUDA: on another device there are no parts. */
#include "given.h"

#include "device/cuda/cuda.h"
#include "device/mark.h"
#include "ops/cuda/kernels.h"
#include "ops/ops.h"
#include "ops/workspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7, DIM = 64, ARRAYS = 8, SKIPPED = 77 };

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

typedef int launch_fn(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                      const struct pk_flash_parts *parts, float *memory);

static const struct way {
    const char *name;
    enum pk_math math;
    bool backward;
    launch_fn *launch;
} ways[] = {
    {"forward ieee", PK_MATH_IEEE, false, pk_k_flash_forward},
    {"backward ieee", PK_MATH_IEEE, true, pk_k_flash_backward},
    {"forward 3xtf32", PK_MATH_3XTF32, false, pk_k_flash_forward_3xtf32},
    {"backward 3xtf32", PK_MATH_3XTF32, true, pk_k_flash_backward_3xtf32},
};

/* One problem each, but for the last; all are cut in at least one direction. */
static const struct row {
    size_t batch, seq;
    int causal;
} rows[] = {{1, 1024, 0}, {1, 2048, 0}, {1, 4096, 0}, {1, 4096, 1}, {1, 8192, 1}, {4, 2048, 1}};

struct bench {
    struct pk_device *dev;
    struct pk_attention at;
    float *memory; /* of the parts of either direction */
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

static double best_ns(struct bench *b, const struct way *w, const struct pk_flash_parts *parts)
{
    const struct pk_cuda_traits *t = pk_cuda_traits(b->dev);
    const struct pk_chip chip = {t->multiprocessors, t->shared_bytes};
    double best = INFINITY;
    for (int run = 0; run <= RUNS; run++) { /* the first makes what is only needed once */
        pk_marks_clear(&b->dev->marks);
        pk_mark_begin(b->dev, 0, PK_LANE_COMPUTE);
        const int rc = w->launch(pk_cuda_stream(b->dev, PK_LANE_COMPUTE), &chip, &b->at, parts, b->memory);
        pk_mark_end(b->dev, 0, PK_LANE_COMPUTE);
        must(b, pk_cuda_check(b->dev, rc, "launching flash attention", &b->err));
        must(b, pk_device_sync(b->dev, &b->err));
        const double ns = fmax(1, (double)pk_mark_lane_ns(b->dev, &b->dev->marks.v[0]));
        best = run ? fmin(best, ns) : best;
    }
    return best;
}

/* What the direction has written, on the host. */
static float *results(struct bench *b, const struct way *w)
{
    const size_t n = b->at.batch * b->at.seq * DIM, each = n * sizeof(float);
    void *const from[] = {w->backward ? b->at.dq : b->at.o, b->at.dk, b->at.dv};
    const size_t arrays = w->backward ? 3 : 1;
    float *host = malloc(3 * each);
    for (size_t i = 0; host && i < arrays; i++)
        must(b, pk_device_copy(b->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, host + i * n, from[i], each,
                               &b->err));
    must(b, pk_device_sync(b->dev, &b->err));
    return host;
}

/* The root of the mean square difference, relative to a. */
static double difference(const float *a, const float *b, size_t n)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += (double)a[i] * a[i];
    }
    return sqrt(off / size);
}

/* A line; the number of those that parts make no faster. */
static int measure(struct bench *b, const struct way *w, const struct row *r)
{
    const struct pk_flash_parts parts = pk_flash_parts(&b->at, w->backward), whole = {1, b->at.seq};
    const size_t n = b->at.batch * b->at.seq * DIM * (w->backward ? 3 : 1);
    if (parts.n == 1)
        return 0;
    const double whole_ns = best_ns(b, w, &whole);
    float *const of_whole = results(b, w);
    const double parts_ns = best_ns(b, w, &parts);
    float *const of_parts = results(b, w);
    const double off = of_whole && of_parts ? difference(of_whole, of_parts, n) : INFINITY;
    free(of_whole);
    free(of_parts);
    if (!(off < 1e-5)) {
        fprintf(stderr, "%s, %zu x %zu: results of %zu parts are %g off those of the whole\n", w->name,
                r->batch, r->seq, parts.n, off);
        exit(EXIT_FAILURE);
    }
    printf("%-15s %zu x %-5zu %-6s %2zu parts %9.1f us, whole %9.1f us: %6.2f x%s\n", w->name, r->batch,
           r->seq, r->causal ? "causal" : "full", parts.n, parts_ns / 1e3, whole_ns / 1e3,
           whole_ns / parts_ns, whole_ns < parts_ns ? "  below its aim" : "");
    fflush(stdout);
    return whole_ns < parts_ns;
}

/* All ways of a shape; forward first: backward needs what it saves. */
static int measure_shape(struct bench *b, const struct row *r)
{
    const size_t n = r->batch * r->seq * DIM;
    float *v[ARRAYS];
    int below = 0;
    for (size_t i = 0; i < ARRAYS; i++) {
        v[i] = take(b, n * sizeof(float));
        must(b, pk_op_fill(b->dev, &(struct pk_fill){v[i], 1, n, n, i}, 1, &b->err));
    }
    b->at = (struct pk_attention){
        .batch = r->batch, .seq = r->seq, .dim = DIM, .causal = r->causal, .scale = 0.125f};
    b->at.q = v[0], b->at.k = v[1], b->at.v = v[2], b->at.d_o = v[3];
    b->at.o = v[4], b->at.dq = v[5], b->at.dk = v[6], b->at.dv = v[7];
    b->at.lse = take(b, r->batch * r->seq * sizeof(float));
    for (size_t i = 0; i < COUNT(ways); i++) {
        b->at.math = ways[i].math;
        const size_t bytes =
            ways[i].backward ? pk_workspace_flash_backward(&b->at) : pk_workspace_flash_forward(&b->at);
        b->memory = bytes ? take(b, bytes) : NULL;
        below += measure(b, &ways[i], r);
        pk_device_free(b->dev, b->memory);
    }
    for (size_t i = 0; i < ARRAYS; i++)
        pk_device_free(b->dev, v[i]);
    pk_device_free(b->dev, b->at.lse);
    return below;
}

int main(int argc, char **argv)
{
    const struct given given = given_device(argc, argv);
    struct pk_device dev;
    struct bench b = {.dev = &dev};
    int below = 0;
    given_open(&dev, &given, &(struct pk_device_options){0});
    if (dev.kind == PK_DEVICE_CUDA)
        for (size_t i = 0; i < (given.tiny ? 1 : COUNT(rows)); i++)
            below += measure_shape(&b, &rows[i]);
    const bool measured = dev.kind == PK_DEVICE_CUDA;
    given_close(&dev);
    if (!measured) {
        printf("skipped: kernels of this device see everything whole\n");
        return SKIPPED;
    }
    printf("%d below their aim\n", below);
    return EXIT_SUCCESS;
}
