/* Overlap: chains of short kernels, each of which reads what the one before has written, with and without dependent launch
 * (device/cuda/cuda.h), in turns in one process. Prints a table: a launch that takes no less time with it is told and no failure; a result that
 * is not the same to the bit is one. For builds with CUDA: launches of another device never overlap. */
#include "given.h"

#include "base/err.h"
#include "device/cuda/cuda.h"
#include "device/lane.h"
#include "device/mark.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 40, LINKS_A_MARK = 5, RUNS = 15, RUNS_TINY = 3, SKIPPED = 77 };

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static const struct shape {
    size_t rows, cols;
} shapes[] = {{64, 256}, {2048, 768}, {16384, 768}};

/* Marks inside of the chain stand between kernels: in a capture their events do, too. */
static const struct way {
    const char *name;
    bool captured, marks_inside;
} ways[] = {{"launched", false, false},
            {"launched, marked", false, true},
            {"captured", true, false},
            {"captured, marked", true, true}};

struct bench {
    struct pk_device *dev;
    struct shape shape;
    float *x, *y, *z, *w;
    struct pk_err err;
};

static void must(const struct bench *b, enum pk_code rc)
{
    if (rc) {
        fprintf(stderr, "%s\n  why: %s\n", b->err.what, b->err.why);
        exit(EXIT_FAILURE);
    }
}

static float *take(struct bench *b, size_t n)
{
    float *x = pk_device_alloc(b->dev, n * sizeof *x, PK_TAG_OTHER);
    if (!x)
        must(b, pk_device_oom(b->dev, &b->err));
    return x;
}

static void fill(struct bench *b, float *x, size_t n, uint64_t seed)
{
    must(b, pk_op_fill(b->dev, &(struct pk_fill){x, 1, n, n, seed}, 1, &b->err));
}

/* From x to x by y. z and w are read alone. */
static enum pk_code link_at(struct bench *b, size_t i)
{
    const size_t n = b->shape.rows * b->shape.cols;
    const struct pk_norm norm = {
        .rows = b->shape.rows, .cols = b->shape.cols, .eps = 1e-5f, .x = b->x, .w = b->w, .y = b->y};
    switch (i % 4) {
    case 0:
        return pk_op_norm(b->dev, &norm, &b->err);
    case 1:
        return pk_op_map(b->dev, PK_MAP_ADD, PK_FP32, b->y, b->z, b->x, n, &b->err);
    case 2:
        return pk_op_scale(b->dev, PK_FP32, 0.75f, b->x, b->y, n, &b->err);
    default:
        return pk_op_map(b->dev, PK_MAP_SILU, PK_FP32, b->y, NULL, b->x, n, &b->err);
    }
}

/* The first mark is the whole chain's. */
static enum pk_code chain(struct bench *b, bool marks_inside)
{
    enum pk_code rc = PK_OK;
    pk_marks_clear(&b->dev->marks);
    pk_mark_begin(b->dev, 0, PK_LANE_COMPUTE);
    for (size_t i = 0; !rc && i < LINKS; i++) {
        if (marks_inside && i % LINKS_A_MARK == 0)
            pk_mark_begin(b->dev, 1, PK_LANE_COMPUTE);
        rc = link_at(b, i);
        if (marks_inside && i % LINKS_A_MARK == LINKS_A_MARK - 1)
            pk_mark_end(b->dev, 1, PK_LANE_COMPUTE);
    }
    pk_mark_end(b->dev, 0, PK_LANE_COMPUTE);
    return rc;
}

static struct pk_graph *capture(struct bench *b, bool marks_inside)
{
    struct pk_graph *g = NULL;
    must(b, pk_graph_begin(b->dev, &b->err));
    must(b, pk_graph_end(b->dev, chain(b, marks_inside), &g, &b->err));
    return g;
}

/* Nanoseconds of a launch. What an earlier chain left in x and y is no result of this one, so that a kernel that starts too early shows. */
static double run_ns(struct bench *b, const struct way *w, bool overlap, uint64_t seed, float *result)
{
    const size_t n = b->shape.rows * b->shape.cols;
    struct pk_graph *g = NULL;
    fill(b, b->x, n, seed);
    fill(b, b->y, n, ~seed);
    if (pk_cuda_overlap(b->dev, overlap) != overlap) {
        printf("skipped: the kernels for this GPU cannot wait for each other\n");
        exit(SKIPPED);
    }
    if (w->captured)
        g = capture(b, w->marks_inside);
    must(b, pk_device_sync(b->dev, &b->err));
    must(b, g ? pk_graph_replay(b->dev, g, &b->err) : chain(b, w->marks_inside));
    pk_cuda_overlap(b->dev, false);
    must(b, pk_device_sync(b->dev, &b->err));
    const double ns = fmax(1, (double)pk_mark_lane_ns(b->dev, &b->dev->marks.v[0])) / LINKS;
    must(b, pk_device_copy(b->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, result, b->x, n * sizeof *result,
                           &b->err));
    must(b, pk_device_sync(b->dev, &b->err));
    pk_graph_free(b->dev, g);
    return ns;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, ascending);
    return v[n / 2];
}

/* A line; 1 where launches that may overlap take no less time. */
static int measure(struct bench *b, const struct way *w, size_t runs, float *result[2])
{
    double off[RUNS], on[RUNS], ratio[RUNS];
    const size_t bytes = b->shape.rows * b->shape.cols * sizeof(float);
    for (size_t i = 0; i < runs; i++) {
        off[i] = run_ns(b, w, false, i + 1, result[0]);
        on[i] = run_ns(b, w, true, i + 1, result[1]);
        ratio[i] = off[i] / on[i];
        if (memcmp(result[0], result[1], bytes) != 0 || !isfinite(result[0][0])) {
            fprintf(stderr, "%s, %zu x %zu: results with dependent launch are others\n", w->name,
                    b->shape.rows, b->shape.cols);
            exit(EXIT_FAILURE);
        }
    }
    const double x = median(ratio, runs);
    printf("%-17s %5zu x %-4zu off %8.2f us, on %8.2f us a launch: %6.2f x%s\n", w->name, b->shape.rows,
           b->shape.cols, median(off, runs) / 1e3, median(on, runs) / 1e3, x, x > 1 ? "" : "  below its aim");
    fflush(stdout);
    return !(x > 1);
}

static int measure_shape(struct bench *b, size_t runs)
{
    const size_t n = b->shape.rows * b->shape.cols;
    float *result[2] = {malloc(n * sizeof(float)), malloc(n * sizeof(float))};
    int below = 0;
    pk_assert(result[0] && result[1]);
    b->x = take(b, n), b->y = take(b, n), b->z = take(b, n), b->w = take(b, b->shape.cols);
    fill(b, b->z, n, 101);
    fill(b, b->w, b->shape.cols, 102);
    must(b, chain(b, false)); /* what is only made once */
    for (size_t i = 0; i < COUNT(ways); i++)
        below += measure(b, &ways[i], runs, result);
    float *const taken[] = {b->x, b->y, b->z, b->w};
    for (size_t i = 0; i < COUNT(taken); i++)
        pk_device_free(b->dev, taken[i]);
    free(result[0]);
    free(result[1]);
    return below;
}

int main(int argc, char **argv)
{
    const struct given given = given_device(argc, argv);
    struct pk_device dev;
    struct bench b = {.dev = &dev};
    int below = 0;
    given_open(&dev, &given, &(struct pk_device_options){0});
    if (dev.kind != PK_DEVICE_CUDA) {
        given_close(&dev);
        printf("skipped: launches of this device never overlap\n");
        return SKIPPED;
    }
    for (size_t i = 0; i < (given.tiny ? 1 : COUNT(shapes)); i++) {
        b.shape = shapes[i];
        below += measure_shape(&b, given.tiny ? RUNS_TINY : RUNS);
    }
    given_close(&dev);
    printf("%d below their aim\n", below);
    return EXIT_SUCCESS;
}
