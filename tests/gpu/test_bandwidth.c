/* Bandwidth of layers: each kernel at a transformer's shapes, the bytes it must move over the time it takes, as a share of what a copy
 * reaches. Prints a table; a share below its aim is told and no failure. Whether results are right is test_ops.c's affair; here they are
 * read after the last run, and times of arithmetic on NaN, infinities or zeros are a failure.
 *
 * A run launches the kernel once on each of several sets of arrays, filled anew before: what works in place never reads its own results,
 * and no launch finds in the cache what the one before left. */
#include "given.h"

#include "device/mark.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUNS = 7,       /* the best counts */
    SETS = 24,      /* and launches of a run, where half of the memory holds them */
    TOKENS = 16384, /* the most rows */
    VOCAB = 10000,
    PIECE = 32 << 20, /* bytes filled together */
    ARRAYS_MOST = 4,
};

struct array {
    void *x;
    enum pk_dtype type;
    size_t n;
};

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* One operation at one shape: a call lays its arrays out from `at` on, says what moves, and launches unless it is dry. `outputs` are what it
 * writes, `squares` the fp32 arrays that have to be positive. */
struct bench {
    struct pk_device *dev;
    enum pk_dtype type;
    size_t rows, cols;
    const int32_t *tokens; /* [TOKENS], each below VOCAB */
    const struct pk_adamw_state *state;
    char *at;
    bool dry;
    struct array outputs[ARRAYS_MOST], squares[ARRAYS_MOST];
    size_t n_outputs, n_squares;
    struct pk_work work;
    struct pk_err err;
};

static void *take(struct bench *b, size_t bytes)
{
    char *x = b->at;
    b->at += (bytes + 255) / 256 * 256;
    return x;
}

static void *elements(struct bench *b, size_t n)
{
    return take(b, n * pk_dtype_bytes(b->type));
}

static void *floats(struct bench *b, size_t n)
{
    return take(b, n * sizeof(float));
}

static void *output(struct bench *b, enum pk_dtype type, void *x, size_t n)
{
    b->outputs[b->n_outputs++] = (struct array){x, type, n};
    return x;
}

static float *square(struct bench *b, float *x, size_t n)
{
    b->squares[b->n_squares++] = (struct array){x, PK_FP32, n};
    return x;
}

#define MEASURED(b, op, x)                                                                                   \
    do {                                                                                                     \
        (b)->work = pk_work_##op(x);                                                                         \
        return (b)->dry ? PK_OK : pk_op_##op((b)->dev, x, &(b)->err);                                        \
    } while (0)

static enum pk_code copy(struct bench *b)
{
    const size_t n = b->rows * b->cols * pk_dtype_bytes(b->type);
    const struct pk_copy2d c = {take(b, n), take(b, n), 1, n, n, n};
    output(b, b->type, c.dst, b->rows * b->cols);
    b->work = pk_work_copy2d(&c, 1);
    return b->dry ? PK_OK : pk_op_copy2d(b->dev, &c, 1, &b->err);
}

static enum pk_code norm(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    const struct pk_norm x = {
        b->rows,        b->cols,           1e-5f, b->type, elements(b, n), NULL, NULL, floats(b, b->cols),
        elements(b, n), floats(b, b->rows)};
    output(b, b->type, x.y, n);
    output(b, PK_FP32, x.rstd, b->rows);
    MEASURED(b, norm, &x);
}

static enum pk_code norm_residual(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *s = elements(b, n);
    const struct pk_norm x = {
        b->rows,        b->cols,           1e-5f, b->type, s, elements(b, n), s, floats(b, b->cols),
        elements(b, n), floats(b, b->rows)};
    output(b, b->type, s, n);
    output(b, b->type, x.y, n);
    output(b, PK_FP32, x.rstd, b->rows);
    MEASURED(b, norm, &x);
}

static enum pk_code norm_backward(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *d_s = elements(b, n);
    const struct pk_norm_backward x = {b->rows,
                                       b->cols,
                                       b->type,
                                       elements(b, n),
                                       floats(b, b->cols),
                                       square(b, floats(b, b->rows), b->rows),
                                       elements(b, n),
                                       d_s,
                                       d_s,
                                       floats(b, b->cols)};
    output(b, b->type, d_s, n);
    output(b, PK_FP32, x.d_w, b->cols);
    MEASURED(b, norm_backward, &x);
}

/* Gate and up as one product makes them. */
static enum pk_code glu(struct bench *b)
{
    char *gate = elements(b, 2 * b->rows * b->cols);
    const struct pk_glu x = {b->rows,
                             b->cols,
                             2 * b->cols,
                             b->type,
                             gate,
                             gate + b->cols * pk_dtype_bytes(b->type),
                             elements(b, b->rows * b->cols)};
    output(b, b->type, x.y, b->rows * b->cols);
    MEASURED(b, glu, &x);
}

static enum pk_code glu_backward(struct bench *b)
{
    char *gate = elements(b, 2 * b->rows * b->cols), *up = gate + b->cols * pk_dtype_bytes(b->type);
    void *d_y = elements(b, b->rows * b->cols);
    const struct pk_glu_backward x = {b->rows, b->cols, 2 * b->cols, b->type, gate, up, d_y, gate, up, d_y};
    output(b, b->type, gate, 2 * b->rows * b->cols);
    output(b, b->type, d_y, b->rows * b->cols);
    MEASURED(b, glu_backward, &x);
}

static enum pk_code cross_entropy(struct bench *b)
{
    void *logits = elements(b, b->rows * b->cols);
    const struct pk_cross_entropy x = {
        b->rows, b->cols, b->cols, b->type, logits, b->tokens, floats(b, b->rows), 1e-4f, logits};
    output(b, b->type, logits, b->rows * b->cols);
    output(b, PK_FP32, x.losses, b->rows);
    MEASURED(b, cross_entropy, &x);
}

/* q, k and v of heads of 64, the first two rotated. */
static enum pk_code split_heads(struct bench *b)
{
    enum { DIM = 64, SEQ = 256, PARTS = 3 };
    const size_t n = b->rows * b->cols;
    const struct pk_heads x = {.batch = b->rows > SEQ ? b->rows / SEQ : 1,
                               .seq = b->rows > SEQ ? SEQ : b->rows,
                               .heads = b->cols / DIM,
                               .dim = DIM,
                               .parts = PARTS,
                               .rotated = 3,
                               .dtype = b->type,
                               .rope_table = floats(b, SEQ * DIM),
                               .rows = elements(b, PARTS * n),
                               .head = {elements(b, n), elements(b, n), elements(b, n)}};
    for (int i = 0; i < PARTS; i++)
        output(b, b->type, x.head[i], n);
    b->work = pk_work_heads(&x);
    return b->dry ? PK_OK : pk_op_split_heads(b->dev, &x, &b->err);
}

static enum pk_code embed(struct bench *b)
{
    const struct pk_embed x = {b->rows,
                               b->cols,
                               VOCAB,
                               b->type,
                               b->tokens,
                               elements(b, VOCAB * b->cols),
                               elements(b, b->rows * b->cols)};
    output(b, b->type, x.out, b->rows * b->cols);
    MEASURED(b, embed, &x);
}

static enum pk_code embed_backward(struct bench *b)
{
    const struct pk_embed_backward x = {b->rows,
                                        b->cols,
                                        VOCAB,
                                        b->type,
                                        b->tokens,
                                        elements(b, b->rows * b->cols),
                                        floats(b, VOCAB * b->cols)};
    output(b, PK_FP32, x.d_table, VOCAB * b->cols);
    MEASURED(b, embed_backward, &x);
}

static enum pk_code add(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *x = elements(b, n), *y = elements(b, n);
    output(b, b->type, y, n);
    b->work = pk_work_map(PK_MAP_ADD, b->type, n);
    return b->dry ? PK_OK : pk_op_map(b->dev, PK_MAP_ADD, b->type, x, y, y, n, &b->err);
}

static enum pk_code softmax(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *x = elements(b, n), *y = output(b, b->type, elements(b, n), n);
    b->work = pk_work_softmax(b->type, b->rows, b->cols);
    return b->dry ? PK_OK : pk_op_softmax(b->dev, b->type, x, y, b->rows, b->cols, &b->err);
}

static enum pk_code softmax_backward(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *p = elements(b, n), *dp = elements(b, n), *ds = output(b, b->type, elements(b, n), n);
    b->work = pk_work_softmax_backward(b->type, b->rows, b->cols);
    return b->dry ? PK_OK : pk_op_softmax_backward(b->dev, b->type, p, dp, ds, b->rows, b->cols, &b->err);
}

/* Gradients in fp32, as the type says; with bf16 also the narrow copy of the parameters. */
static enum pk_code adamw(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    const bool narrow = b->type == PK_BF16;
    const struct pk_adamw x = {.n = n,
                               .passes = PK_ADAMW_FUSED | (narrow ? PK_ADAMW_NARROW : 0),
                               .state = b->state,
                               .p = floats(b, n),
                               .m = floats(b, n),
                               .v = square(b, floats(b, n), n),
                               .g = floats(b, n),
                               .narrow = narrow ? elements(b, n) : NULL};
    output(b, PK_FP32, x.p, n);
    output(b, PK_FP32, x.m, n);
    output(b, PK_FP32, x.v, n);
    if (narrow)
        output(b, PK_BF16, x.narrow, n);
    MEASURED(b, adamw, &x);
}

/* Aims are estimates. Those of norms are lower: they take 15 to 50 us at these shapes, and 2 to 3 us pass between two launches; norm backward
 * sums the parts of d_w in a second launch. */
static const struct row {
    const char *name;
    enum pk_code (*call)(struct bench *b);
    double aim; /* percent of a copy; 0: none was set */
    struct {
        size_t rows, cols;
    } shapes[2];
} rows[] = {
    {"copy", copy, 0, {{65536, 2048}, {16384, 768}}},
    {"norm", norm, 75, {{16384, 768}, {8192, 1280}}},
    {"norm, residual", norm_residual, 80, {{16384, 768}, {8192, 1280}}},
    {"norm backward", norm_backward, 70, {{16384, 768}, {8192, 1280}}},
    {"glu", glu, 85, {{16384, 3072}, {8192, 5120}}},
    {"glu backward", glu_backward, 85, {{16384, 3072}, {8192, 5120}}},
    {"cross-entropy", cross_entropy, 85, {{16384, VOCAB}, {8192, VOCAB}}},
    {"softmax", softmax, 85, {{16384, 4096}, {8192, 8192}}},
    {"softmax backward", softmax_backward, 85, {{16384, 4096}, {8192, 8192}}},
    {"split heads", split_heads, 0, {{16384, 768}, {8192, 1280}}},
    {"embed", embed, 0, {{16384, 768}, {8192, 1280}}},
    {"embed backward", embed_backward, 0, {{16384, 768}, {8192, 1280}}},
    {"add", add, 0, {{16384, 768}, {8192, 1280}}},
    {"AdamW", adamw, 90, {{128625, 1000}, {33554, 1000}}},
};

static void must(const struct bench *b, enum pk_code rc)
{
    if (rc) {
        fprintf(stderr, "%s\n  why: %s\n", b->err.what, b->err.why);
        exit(EXIT_FAILURE);
    }
}

static void *allocate(struct bench *b, size_t bytes)
{
    void *x = pk_device_alloc(b->dev, bytes, PK_TAG_OTHER);
    if (!x)
        must(b, pk_device_oom(b->dev, &b->err));
    return x;
}

/* Lays the arrays of a set out at `at`, and launches unless dry. */
static void lay(struct bench *b, const struct row *r, char *at, bool dry)
{
    b->at = at;
    b->dry = dry;
    b->n_outputs = b->n_squares = 0;
    must(b, r->call(b));
}

/* Uniform numbers in [-1, 1) as elements of the type; two of bf16 are such a float, too. */
static void fill(struct bench *b, char *x, size_t bytes)
{
    const size_t most = bytes < PIECE ? bytes : PIECE;
    float *wide = b->type == PK_BF16 ? allocate(b, most / 2 * sizeof *wide) : NULL;
    for (size_t at = 0; at < bytes; at += most) {
        const size_t some = bytes - at < most ? bytes - at : most, n = some / pk_dtype_bytes(b->type);
        float *to = wide ? wide : (float *)(x + at);
        const struct pk_adamw narrow = {
            .n = n, .passes = PK_ADAMW_NARROW, .state = b->state, .p = wide, .narrow = (uint16_t *)(x + at)};
        must(b, pk_op_fill(b->dev, &(struct pk_fill){to, 1, n, n, at}, 1, &b->err));
        if (wide)
            must(b, pk_op_adamw(b->dev, &narrow, &b->err));
    }
    pk_device_free(b->dev, wide);
}

/* New inputs for every set. */
static void renew(struct bench *b, const struct row *r, char *memory, size_t sets, size_t bytes)
{
    fill(b, memory, sets * bytes);
    for (size_t i = 0; i < sets; i++) {
        lay(b, r, memory + i * bytes, true);
        for (size_t k = 0; k < b->n_squares; k++) {
            float *x = b->squares[k].x;
            must(b, pk_op_map(b->dev, PK_MAP_MUL, PK_FP32, x, x, x, b->squares[k].n, &b->err));
        }
    }
    must(b, pk_device_sync(b->dev, &b->err));
}

/* Nanoseconds of one launch, the mean of a run. */
static double run_ns(struct bench *b, const struct row *r, char *memory, size_t sets, size_t bytes)
{
    struct pk_device *dev = b->dev;
    pk_marks_clear(&dev->marks);
    pk_mark_begin(dev, 0, PK_LANE_COMPUTE);
    for (size_t i = 0; i < sets; i++)
        lay(b, r, memory + i * bytes, false);
    pk_mark_end(dev, 0, PK_LANE_COMPUTE);
    must(b, pk_device_sync(dev, &b->err));
    return fmax(1, (double)pk_mark_lane_ns(dev, &dev->marks.v[0])) / (double)sets;
}

static float value_of(const struct array *x, const void *host, size_t i)
{
    uint32_t bits;
    float value;
    if (x->type == PK_FP32)
        return ((const float *)host)[i];
    bits = (uint32_t)((const uint16_t *)host)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of the first elements and the last: true when all are finite and one in a hundred is neither 0 nor subnormal, which leaves room for
 * tokens that do not occur. */
static bool is_ordinary(struct bench *b, const struct array *x)
{
    enum { SAMPLE = 16384 };
    static float host[SAMPLE];
    const size_t size = pk_dtype_bytes(x->type), n = x->n < SAMPLE ? x->n : SAMPLE, at[] = {0, x->n - n};
    size_t normal = 0;
    for (int part = 0; part < 2; part++) {
        must(b, pk_device_copy(b->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, host,
                               (char *)x->x + at[part] * size, n * size, &b->err));
        must(b, pk_device_sync(b->dev, &b->err));
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(value_of(x, host, i)))
                return false;
            normal += isnormal(value_of(x, host, i)) != 0;
        }
    }
    return normal >= 2 * n / 100;
}

/* After the last run: whether the numbers that were timed are such as a model has. */
static bool check_outputs(struct bench *b, const struct row *r, char *memory, size_t sets, size_t bytes)
{
    bool good = true;
    for (size_t set = 0; set<sets; set += sets> 1 ? sets - 1 : 1) {
        lay(b, r, memory + set * bytes, true);
        for (size_t i = 0; i < b->n_outputs; i++)
            if (!is_ordinary(b, &b->outputs[i])) {
                fprintf(stderr, "ERROR: %s: output %zu is not finite, or zero\n", r->name, i);
                good = false;
            }
    }
    return good;
}

/* Bytes per second at best; *ns of a launch then; *good: the check of its results. */
static double best_rate(struct bench *b, const struct row *r, bool tiny, double *ns, bool *good)
{
    static char nowhere[256]; /* an address to count from: nothing is written there */
    lay(b, r, nowhere, true);
    const size_t bytes = (size_t)(b->at - nowhere), room = b->dev->pool.limit / 2 / bytes;
    const size_t most = tiny ? 2 : SETS, sets = !room ? 1 : room < most ? room : most;
    char *memory = allocate(b, sets * bytes);
    *ns = INFINITY;
    for (int run = 0; run <= (tiny ? 1 : RUNS); run++) {
        renew(b, r, memory, sets, bytes);
        const double now = run_ns(b, r, memory, sets, bytes);
        if (run) /* the first makes what is only needed once */
            *ns = fmin(*ns, now);
    }
    *good = check_outputs(b, r, memory, sets, bytes);
    pk_device_free(b->dev, memory);
    pk_pool_trim(&b->dev->pool);
    return b->work.bytes / *ns * 1e9;
}

/* Lines of one kernel; counts those below their aim and those with bad results. */
static void measure(struct bench *b, const struct row *r, bool tiny, double *copied, int *below, int *bad)
{
    enum { TINY_ROWS = 24 };
    for (size_t i = 0; i < 2 * COUNT(r->shapes); i++) {
        double ns;
        bool good;
        b->type = i % 2 ? PK_BF16 : PK_FP32;
        b->rows = tiny ? TINY_ROWS : r->shapes[i / 2].rows;
        b->cols = r->shapes[i / 2].cols;
        const double rate = best_rate(b, r, tiny, &ns, &good);
        if (!*copied)
            *copied = rate; /* of the first line: arrays far larger than any cache */
        const double share = 100 * rate / *copied;
        const bool low = r->aim > 0 && share < r->aim;
        printf("%-16s %-4s %6zu x %-5zu %10.1f us %8.1f GB/s %6.1f %% of a copy%s\n", r->name,
               b->type == PK_BF16 ? "bf16" : "fp32", b->rows, b->cols, ns / 1e3, rate / 1e9, share,
               low ? "  below its aim" : "");
        fflush(stdout);
        *below += low;
        *bad += !good;
    }
}

/* What every operation reads: tokens that occur about equally often, the optimizer's state. */
static void give_inputs(struct bench *b, int32_t *tokens, struct pk_adamw_state *state)
{
    static int32_t host[TOKENS];
    const struct pk_adamw_state begun = {1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.9f, 0.95f};
    for (size_t i = 0; i < TOKENS; i++)
        host[i] = (int32_t)(i * 7919 % VOCAB);
    must(b,
         pk_device_copy(b->dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, tokens, host, sizeof host, &b->err));
    must(b, pk_device_copy(b->dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, state, &begun, sizeof begun,
                           &b->err));
    must(b, pk_device_sync(b->dev, &b->err));
    b->tokens = tokens;
    b->state = state;
}

int main(int argc, char **argv)
{
    struct given given = given_device(argc, argv);
    struct pk_device dev;
    struct bench b = {.dev = &dev};
    double copied = 0;
    int below = 0, bad = 0;
    given_open(&dev, &given, &(struct pk_device_options){0});
    int32_t *tokens = allocate(&b, TOKENS * sizeof *tokens);
    struct pk_adamw_state *state = allocate(&b, sizeof *state);
    give_inputs(&b, tokens, state);
    for (size_t i = 0; i < COUNT(rows); i++)
        measure(&b, &rows[i], given.tiny, &copied, &below, &bad);
    pk_device_free(&dev, state);
    pk_device_free(&dev, tokens);
    given_close(&dev);
    printf("%d below their aim\n", below);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
