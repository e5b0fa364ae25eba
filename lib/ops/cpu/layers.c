/* Layers: the operations of a decoder transformer besides products and attention, by rows or by runs of elements. Embeddings are in
 * embed.c. */
#include "base/err.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/workspace.h"

#include <string.h>

/* Norm: backward in blocks of rows, each with its own sums of the weight's gradient. */
static void norm_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->norm(p->op, row);
}

enum pk_code pk_cpu_norm(struct pk_device *dev, const struct pk_norm *n, struct pk_err *err)
{
    pk_cpu_each_row(dev, n, n->rows, n->cols, norm_row);
    return PK_OK;
}

/* From the shape only, so that sums do not depend on the number of threads. */
enum { BLOCKS_MOST = 128, BLOCK_ROWS_LEAST = 16 };

struct norm_job {
    const struct pk_norm_backward *n;
    size_t rows;  /* of a block */
    float *parts; /* [blocks, cols] */
};

static void norm_backward_block(const struct pk_cpu_pass *p, size_t block)
{
    const struct norm_job *j = p->op;
    const size_t cols = j->n->cols, begin = block * j->rows;
    float *d_w = j->parts + block * cols;
    memset(d_w, 0, cols * sizeof *d_w);
    for (size_t row = begin; row < begin + j->rows && row < j->n->rows; row++)
        p->kernels->norm_backward(j->n, row, d_w);
}

static size_t norm_block_rows(const struct pk_norm_backward *n)
{
    const size_t even = (n->rows + BLOCKS_MOST - 1) / BLOCKS_MOST;
    return even > BLOCK_ROWS_LEAST ? even : BLOCK_ROWS_LEAST;
}

static size_t norm_blocks(const struct pk_norm_backward *n)
{
    return (n->rows + norm_block_rows(n) - 1) / norm_block_rows(n);
}

size_t pk_workspace_cpu_norm_backward(const struct pk_norm_backward *n)
{
    return pk_pool_rounded(norm_blocks(n) * n->cols * sizeof(float));
}

enum pk_code pk_cpu_norm_backward(struct pk_device *dev, const struct pk_norm_backward *n, struct pk_err *err)
{
    struct norm_job j = {.n = n, .rows = norm_block_rows(n)};
    const size_t blocks = norm_blocks(n);
    j.parts = pk_device_alloc(dev, blocks * n->cols * sizeof *j.parts, PK_TAG_WORKSPACE);
    if (!j.parts)
        return pk_device_oom(dev, err);
    pk_cpu_each_row(dev, &j, blocks, j.rows * n->cols, norm_backward_block);
    if (!n->add)
        memcpy(n->d_w, j.parts, n->cols * sizeof *n->d_w);
    for (size_t block = n->add ? 0 : 1; block < blocks; block++)
        pk_kernels_of(pk_cpu_isa(dev))->add(PK_FP32, j.parts + block * n->cols, n->d_w, n->cols);
    pk_device_free(dev, j.parts);
    return PK_OK;
}

/* Heads: rows of tokens taken apart into heads and put together again, rotated on the way. */
enum {
    HEADS_BLOCK = 16
}; /* tokens: their rows stay in the L2 cache while they are gone through head by head */

struct heads_job {
    const struct pk_heads *h;
    bool merge;
    size_t blocks; /* of one problem */
};

/* The sum of the heads that are repetitions of one, rotated back, to its row. */
static void add_repeats(const struct pk_cpu_pass *p, unsigned part, size_t t, char *row, const char *head)
{
    enum { CHUNK = 128 };
    const struct pk_heads *h = ((const struct heads_job *)p->op)->h;
    const size_t bytes = pk_dtype_bytes(h->dtype);
    for (size_t first = 0; first < h->dim; first += CHUNK) {
        const size_t n = h->dim - first < CHUNK ? h->dim - first : CHUNK;
        float sum[CHUNK] = {0};
        for (size_t r = 0; r < h->repeat; r++) {
            const char *x = head + (r * h->seq * h->dim + first) * bytes;
            for (size_t i = 0; i < n; i++)
                sum[i] +=
                    h->dtype == PK_BF16 ? pk_bf16_to_float(((const uint16_t *)x)[i]) : ((const float *)x)[i];
        }
        if (h->rotated >> part & 1)
            p->kernels->rotate(PK_FP32, sum, sum, h->rope_table + t * h->dim + first, -1.0f, n);
        for (size_t i = 0; i < n; i++)
            if (h->dtype == PK_BF16)
                ((uint16_t *)row)[first + i] = pk_bf16_of_float(sum[i]);
            else
                ((float *)row)[first + i] = sum[i];
    }
}

/* dim elements at position t, from one layout to the other. */
static void move(const struct pk_cpu_pass *p, unsigned part, size_t t, char *row, char *head)
{
    const struct heads_job *j = p->op;
    const struct pk_heads *h = j->h;
    const char *from = j->merge ? head : row;
    char *to = j->merge ? row : head;
    if (j->merge && pk_heads_repeat(h) > 1) {
        add_repeats(p, part, t, row, head);
        return;
    }
    if (h->rotated >> part & 1)
        p->kernels->rotate(h->dtype, from, to, h->rope_table + t * h->dim, j->merge ? -1.0f : 1.0f, h->dim);
    else
        memmove(to, from, h->dim * pk_dtype_bytes(h->dtype));
    for (size_t r = 1; r < pk_heads_repeat(h); r++)
        memcpy(head + r * h->seq * h->dim * pk_dtype_bytes(h->dtype), head,
               h->dim * pk_dtype_bytes(h->dtype));
}

static void heads_block(const struct pk_cpu_pass *p, size_t block)
{
    const struct heads_job *j = p->op;
    const struct pk_heads *h = j->h;
    const size_t b = block / j->blocks, t0 = block % j->blocks * HEADS_BLOCK, width = h->parts * h->heads;
    const size_t t1 = t0 + HEADS_BLOCK < h->seq ? t0 + HEADS_BLOCK : h->seq,
                 bytes = h->dim * pk_dtype_bytes(h->dtype), repeat = pk_heads_repeat(h);
    const size_t stride = pk_heads_stride(h) * pk_dtype_bytes(h->dtype);
    for (size_t i = 0; i < width; i++) {
        const unsigned part = (unsigned)(i / h->heads);
        char *row = (char *)h->rows + b * h->seq * stride + i * bytes;
        char *head = (char *)h->head[part] + (b * h->heads + i % h->heads) * repeat * h->seq * bytes;
        for (size_t t = t0; t < t1; t++)
            move(p, part, t, row + t * stride, head + t * bytes);
    }
}

static enum pk_code move_heads(struct pk_device *dev, const struct pk_heads *h, bool merge)
{
    const struct heads_job j = {h, merge, (h->seq + HEADS_BLOCK - 1) / HEADS_BLOCK};
    pk_cpu_each_row(dev, &j, h->batch * j.blocks, HEADS_BLOCK * h->parts * h->heads * h->dim, heads_block);
    return PK_OK;
}

enum pk_code pk_cpu_split_heads(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err)
{
    return move_heads(dev, h, false);
}

enum pk_code pk_cpu_merge_heads(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err)
{
    return move_heads(dev, h, true);
}

struct map_job {
    enum pk_map map;
    enum pk_dtype type;
    const char *a, *b;
    char *y;
    size_t n;
};

static void map_run(const struct pk_cpu_pass *p, size_t run)
{
    const struct map_job *j = p->op;
    const size_t at = run * PK_CPU_RUN * pk_dtype_bytes(j->type);
    p->kernels->map(j->map, j->type, j->a + at, j->b ? j->b + at : NULL, j->y + at,
                    pk_cpu_run_length(j->n, run));
}

enum pk_code pk_cpu_map(struct pk_device *dev, enum pk_map map, enum pk_dtype type, const void *a,
                        const void *b, void *y, size_t n, struct pk_err *err)
{
    pk_cpu_each_run(dev, &(struct map_job){map, type, a, b, y, n}, n, map_run);
    return PK_OK;
}

static void glu_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->glu(p->op, row);
}

enum pk_code pk_cpu_glu(struct pk_device *dev, const struct pk_glu *g, struct pk_err *err)
{
    pk_cpu_each_row(dev, g, g->rows, g->cols, glu_row);
    return PK_OK;
}

static void glu_backward_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->glu_backward(p->op, row);
}

enum pk_code pk_cpu_glu_backward(struct pk_device *dev, const struct pk_glu_backward *g, struct pk_err *err)
{
    pk_cpu_each_row(dev, g, g->rows, g->cols, glu_backward_row);
    return PK_OK;
}

static size_t target_of(const int32_t *targets, size_t row, size_t cols)
{
    pk_assert(targets[row] >= 0 && (size_t)targets[row] < cols);
    return (size_t)targets[row];
}

static void cross_entropy_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct pk_cross_entropy *x = p->op;
    target_of(x->targets, row, x->cols);
    p->kernels->cross_entropy(x, row);
}

enum pk_code pk_cpu_cross_entropy(struct pk_device *dev, const struct pk_cross_entropy *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, x->cols, cross_entropy_row);
    return PK_OK;
}

static void log_softmax_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->log_softmax(p->op, row);
}

enum pk_code pk_cpu_log_softmax(struct pk_device *dev, const struct pk_log_softmax *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, x->cols, log_softmax_row);
    return PK_OK;
}

static void nll_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct pk_nll *x = p->op;
    x->losses[row] = -x->logp[row * x->cols + target_of(x->targets, row, x->cols)];
}

enum pk_code pk_cpu_nll(struct pk_device *dev, const struct pk_nll *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, 1, nll_row);
    return PK_OK;
}

static void nll_backward_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct pk_nll_backward *x = p->op;
    target_of(x->targets, row, x->cols);
    p->kernels->nll_backward(x, row);
}

enum pk_code pk_cpu_nll_backward(struct pk_device *dev, const struct pk_nll_backward *x, struct pk_err *err)
{
    pk_cpu_each_row(dev, x, x->rows, x->cols, nll_backward_row);
    return PK_OK;
}

/* One number a token: too few to divide. */
enum pk_code pk_cpu_mean(struct pk_device *dev, const float *x, size_t n, float *out, struct pk_err *err)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *out = (float)(sum / (double)n);
    return PK_OK;
}

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
