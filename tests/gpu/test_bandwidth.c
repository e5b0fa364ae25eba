/* Bandwidth of layers: each kernel at a transformer's shapes, the bytes it must move over the time it takes, as a share of what a copy
 * reaches. Prints a table; wrong results are test_ops.c's affair, and a share below its aim is told and no failure.
 *
 * Launches follow each other over sets of arrays that together are several times the last-level cache: none finds there what the one before
 * left. */
#include "given.h"

#include "device/mark.h"
#include "ops/layers.h"
#include "ops/rects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RUNS = 7,      /* the best counts */
    LAUNCHES = 24, /* a run, at least */
    SETS_MOST = 64,
    TOKENS = 16384, /* the most rows */
    VOCAB = 10000,
    PIECE = 32 << 20, /* bytes filled together */
};
static const double SETS_BYTES =
    512e6; /* of all sets, where memory allows: 10 times the L2 cache of an H100 */

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* One operation at one shape: a call lays its arrays out from `at` on, says what moves, and launches unless it is dry. */
struct bench {
    struct pk_device *dev;
    enum pk_dtype type;
    size_t rows, cols;
    const int32_t *tokens; /* [TOKENS], each below VOCAB */
    const struct pk_adamw_state *state;
    char *at;
    bool dry;
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

#define MEASURED(b, op, x)                                                                                   \
    do {                                                                                                     \
        (b)->work = pk_work_##op(x);                                                                         \
        return (b)->dry ? PK_OK : pk_op_##op((b)->dev, x, &(b)->err);                                        \
    } while (0)

static enum pk_code copy(struct bench *b)
{
    const size_t n = b->rows * b->cols * pk_dtype_bytes(b->type);
    const struct pk_copy2d c = {take(b, n), take(b, n), 1, n, n, n};
    b->work = pk_work_copy2d(&c, 1);
    return b->dry ? PK_OK : pk_op_copy2d(b->dev, &c, 1, &b->err);
}

static enum pk_code norm(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    const struct pk_norm x = {
        b->rows,        b->cols,           1e-5f, b->type, elements(b, n), NULL, NULL, floats(b, b->cols),
        elements(b, n), floats(b, b->rows)};
    MEASURED(b, norm, &x);
}

static enum pk_code norm_residual(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *s = elements(b, n);
    const struct pk_norm x = {
        b->rows,        b->cols,           1e-5f, b->type, s, elements(b, n), s, floats(b, b->cols),
        elements(b, n), floats(b, b->rows)};
    MEASURED(b, norm, &x);
}

static enum pk_code norm_backward(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *d_s = elements(b, n);
    const struct pk_norm_backward x = {
        b->rows,        b->cols, b->type, elements(b, n),    floats(b, b->cols), floats(b, b->rows),
        elements(b, n), d_s,     d_s,     floats(b, b->cols)};
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
    MEASURED(b, glu, &x);
}

static enum pk_code glu_backward(struct bench *b)
{
    char *gate = elements(b, 2 * b->rows * b->cols), *up = gate + b->cols * pk_dtype_bytes(b->type);
    void *d_y = elements(b, b->rows * b->cols);
    const struct pk_glu_backward x = {b->rows, b->cols, 2 * b->cols, b->type, gate, up, d_y, gate, up, d_y};
    MEASURED(b, glu_backward, &x);
}

static enum pk_code cross_entropy(struct bench *b)
{
    void *logits = elements(b, b->rows * b->cols);
    const struct pk_cross_entropy x = {
        b->rows, b->cols, b->cols, b->type, logits, b->tokens, floats(b, b->rows), 1e-4f, logits};
    MEASURED(b, cross_entropy, &x);
}

/* q, k and v of heads of 64, the first two turned. */
static enum pk_code split_heads(struct bench *b)
{
    enum { DIM = 64, SEQ = 256, PARTS = 3 };
    const size_t n = b->rows * b->cols;
    const struct pk_heads x = {.batch = b->rows > SEQ ? b->rows / SEQ : 1,
                               .seq = b->rows > SEQ ? SEQ : b->rows,
                               .heads = b->cols / DIM,
                               .dim = DIM,
                               .parts = PARTS,
                               .turned = 3,
                               .dtype = b->type,
                               .turns = floats(b, SEQ * DIM),
                               .rows = elements(b, PARTS * n),
                               .head = {elements(b, n), elements(b, n), elements(b, n)}};
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
    MEASURED(b, embed_backward, &x);
}

static enum pk_code add(struct bench *b)
{
    const size_t n = b->rows * b->cols;
    void *x = elements(b, n), *y = elements(b, n);
    b->work = pk_work_map(PK_MAP_ADD, b->type, n);
    return b->dry ? PK_OK : pk_op_map(b->dev, PK_MAP_ADD, b->type, x, y, y, n, &b->err);
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
                               .v = floats(b, n),
                               .g = floats(b, n),
                               .narrow = narrow ? elements(b, n) : NULL};
    MEASURED(b, adamw, &x);
}

static const struct row {
    const char *name;
    enum pk_code (*call)(struct bench *b);
    double aim; /* percent of a copy; 0: none was set */
    struct {
        size_t rows, cols;
    } shapes[2];
} rows[] = {
    {"copy", copy, 0, {{65536, 2048}, {16384, 768}}},
    {"norm", norm, 85, {{16384, 768}, {8192, 1280}}},
    {"norm, residual", norm_residual, 85, {{16384, 768}, {8192, 1280}}},
    {"norm backward", norm_backward, 85, {{16384, 768}, {8192, 1280}}},
    {"glu", glu, 85, {{16384, 3072}, {8192, 5120}}},
    {"glu backward", glu_backward, 85, {{16384, 3072}, {8192, 5120}}},
    {"cross-entropy", cross_entropy, 85, {{16384, VOCAB}, {8192, VOCAB}}},
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

/* Uniform numbers as elements of the type. */
static void fill(struct bench *b, char *x, size_t bytes)
{
    const size_t some = bytes < PIECE ? bytes : PIECE, n = some / 2;
    float *wide = b->type == PK_BF16 ? allocate(b, n * sizeof *wide) : NULL;
    for (size_t at = 0; at + some <= bytes; at += some)
        if (!wide) {
            must(b, pk_op_fill(b->dev, &(struct pk_fill){(float *)(x + at), 1, some / 4, some / 4, at}, 1,
                               &b->err));
        } else {
            const struct pk_adamw narrow = {.n = n,
                                            .passes = PK_ADAMW_NARROW,
                                            .state = b->state,
                                            .p = wide,
                                            .narrow = (uint16_t *)(x + at)};
            must(b, pk_op_fill(b->dev, &(struct pk_fill){wide, 1, n, n, at}, 1, &b->err));
            must(b, pk_op_adamw(b->dev, &narrow, &b->err));
        }
    pk_device_free(b->dev, wide);
}

/* Nanoseconds of one launch, the mean of a run. */
static double run_ns(struct bench *b, const struct row *r, char *memory, size_t sets, size_t launches)
{
    struct pk_device *dev = b->dev;
    pk_marks_clear(&dev->marks);
    pk_mark_begin(dev, 0, PK_LANE_COMPUTE);
    for (size_t i = 0; i < launches; i++) {
        b->at = i % sets ? b->at : memory;
        must(b, r->call(b));
    }
    pk_mark_end(dev, 0, PK_LANE_COMPUTE);
    must(b, pk_device_sync(dev, &b->err));
    return fmax(1, (double)pk_mark_lane_ns(dev, &dev->marks.v[0])) / (double)launches;
}

/* Bytes per second at best; *ns of a launch then. */
static double best_rate(struct bench *b, const struct row *r, bool tiny, double *ns)
{
    b->at = NULL, b->dry = true;
    must(b, r->call(b));
    b->dry = false;
    const size_t bytes = (size_t)(uintptr_t)b->at, many = (size_t)(SETS_BYTES / (double)bytes) + 1;
    const size_t sets = tiny ? 1 : many < SETS_MOST ? many : SETS_MOST;
    const size_t launches = tiny ? 1 : sets * ((LAUNCHES + sets - 1) / sets);
    char *memory = allocate(b, sets * bytes);
    fill(b, memory, sets * bytes);
    *ns = INFINITY;
    for (int run = 0; run <= RUNS; run++) {
        const double now = run_ns(b, r, memory, sets, launches);
        if (run) /* the first makes what is only needed once */
            *ns = fmin(*ns, now);
    }
    pk_device_free(b->dev, memory);
    return b->work.bytes / *ns * 1e9;
}

/* Lines of one kernel; the number of those below their aim. */
static int measure(struct bench *b, const struct row *r, bool tiny, double *copied)
{
    enum { TINY_ROWS = 24 };
    int below = 0;
    for (size_t i = 0; i < 2 * COUNT(r->shapes); i++) {
        double ns;
        b->type = i % 2 ? PK_BF16 : PK_FP32;
        b->rows = tiny ? TINY_ROWS : r->shapes[i / 2].rows;
        b->cols = r->shapes[i / 2].cols;
        const double rate = best_rate(b, r, tiny, &ns);
        if (!*copied)
            *copied = rate; /* of the first line: arrays far larger than any cache */
        const double share = 100 * rate / *copied;
        const bool low = r->aim > 0 && share < r->aim;
        printf("%-15s %-4s %6zu x %-5zu %10.1f us %8.1f GB/s %6.1f %% of a copy%s\n", r->name,
               b->type == PK_BF16 ? "bf16" : "fp32", b->rows, b->cols, ns / 1e3, rate / 1e9, share,
               low ? "  below its aim" : "");
        fflush(stdout);
        below += low;
    }
    return below;
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
    int below = 0;
    given_open(&dev, &given, &(struct pk_device_options){0});
    int32_t *tokens = allocate(&b, TOKENS * sizeof *tokens);
    struct pk_adamw_state *state = allocate(&b, sizeof *state);
    give_inputs(&b, tokens, state);
    for (size_t i = 0; i < COUNT(rows); i++)
        below += measure(&b, &rows[i], given.tiny, &copied);
    pk_device_free(&dev, state);
    pk_device_free(&dev, tokens);
    given_close(&dev);
    printf("%d below their aim\n", below);
    return EXIT_SUCCESS;
}
