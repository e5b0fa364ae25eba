/* Work: what each op must do, from its shapes. */
#include "ops/work.h"

#include "ops/ops.h"
#include "ops/rects.h"

enum { FLOAT = sizeof(float) };

/* Query-key pairs of one problem. */
static double pairs(size_t seq, int causal)
{
    double s = (double)seq;
    return causal ? s * (s + 1) / 2 : s * s;
}

struct pk_work pk_work_gemm(const struct pk_gemm *g)
{
    double m = (double)g->m, n = (double)g->n, k = (double)g->k, batch = (double)g->batch;
    double c_passes = g->beta != 0 ? 2 : 1;
    double ab = (double)pk_dtype_bytes(g->ab_type), c = (double)pk_dtype_bytes(g->c_type);
    return (struct pk_work){.flops = 2 * m * n * k * batch,
                            .bytes = (ab * (m * k + k * n) + c * c_passes * m * n) * batch};
}

struct pk_work pk_work_scale(size_t n)
{
    return (struct pk_work){.bytes = 2.0 * FLOAT * (double)n};
}

struct pk_work pk_work_causal_mask(size_t batch, size_t seq)
{
    return (struct pk_work){.bytes = 2.0 * FLOAT * (double)batch * pairs(seq, 0)};
}

struct pk_work pk_work_softmax(size_t rows, size_t cols)
{
    double n = (double)rows * (double)cols;
    return (struct pk_work){.bytes = 2 * FLOAT * n, .exps = n};
}

struct pk_work pk_work_softmax_backward(size_t rows, size_t cols)
{
    return (struct pk_work){.bytes = 3.0 * FLOAT * (double)rows * (double)cols};
}

/* products: matrix products over all pairs; score_passes: arrays of scores read or written; rows_passes:
 * arrays of [seq, dim] read or written; extra: arrays of [seq] read or written; exps: exponentials per pair.
 */
struct attention_counts {
    double products, score_passes, row_passes, seq_passes, exps;
};

static struct pk_work attention_work(const struct attention_counts *c, size_t batch, size_t seq, size_t dim,
                                     int causal, enum pk_dtype type)
{
    double b = (double)batch, s = (double)seq, d = (double)dim, all = b * pairs(seq, causal);
    return (struct pk_work){.flops = 2 * c->products * all * d,
                            .bytes = (double)pk_dtype_bytes(type) *
                                         (c->score_passes * all + c->row_passes * b * s * d) +
                                     FLOAT * c->seq_passes * b * s,
                            .exps = c->exps * all};
}

/* S written, softmax in place, P read; q k v read, o written. */
struct pk_work pk_work_fused_forward(size_t batch, size_t seq, size_t dim, int causal)
{
    static const struct attention_counts c = {.products = 2, .score_passes = 4, .row_passes = 4, .exps = 1};
    return attention_work(&c, batch, seq, dim, causal, PK_FP32);
}

/* dP written; P and dP read, dS written; P, dS, dS read by three products. Those read d_o v, d_o, k, q and
 * write dv dq dk. */
struct pk_work pk_work_fused_backward(size_t batch, size_t seq, size_t dim, int causal)
{
    static const struct attention_counts c = {.products = 4, .score_passes = 7, .row_passes = 8};
    return attention_work(&c, batch, seq, dim, causal, PK_FP32);
}

/* q k v read, o and lse written. */
static const struct attention_counts flash_forward = {
    .products = 2, .row_passes = 4, .seq_passes = 1, .exps = 1};

/* delta = rowsum(d_o * o): o d_o read, delta written; then q k v d_o lse delta read, dq dk dv written. Five
 * products: the scores again, dP, dV, dQ, dK. */
static const struct attention_counts flash_backward = {
    .products = 5, .row_passes = 9, .seq_passes = 3, .exps = 1};

struct pk_work pk_work_flash_forward(size_t batch, size_t seq, size_t dim, int causal)
{
    return attention_work(&flash_forward, batch, seq, dim, causal, PK_FP32);
}

struct pk_work pk_work_flash_backward(size_t batch, size_t seq, size_t dim, int causal)
{
    return attention_work(&flash_backward, batch, seq, dim, causal, PK_FP32);
}

struct pk_work pk_work_cudnn_forward(size_t batch, size_t seq, size_t dim, int causal)
{
    return attention_work(&flash_forward, batch, seq, dim, causal, PK_BF16);
}

struct pk_work pk_work_cudnn_backward(size_t batch, size_t seq, size_t dim, int causal)
{
    return attention_work(&flash_backward, batch, seq, dim, causal, PK_BF16);
}

struct pk_work pk_work_copy2d(const struct pk_copy2d *v, size_t n)
{
    struct pk_work w = {0};
    for (size_t i = 0; i < n; i++)
        w.bytes += 2.0 * (double)v[i].rows * (double)v[i].row_bytes;
    return w;
}

struct pk_work pk_work_fill(const struct pk_fill *v, size_t n)
{
    struct pk_work w = {0};
    for (size_t i = 0; i < n; i++)
        w.bytes += FLOAT * (double)v[i].rows * (double)v[i].cols;
    return w;
}
