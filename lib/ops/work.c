/* Work: what each op must do, from its shapes. */
#include "ops/work.h"

#include "ops/ops.h"
#include "ops/rects.h"
#include "ops/table.h"

#include <stdbool.h>

enum { FLOAT = sizeof(float) };

static double bytes_of(enum pk_dtype type)
{
    return (double)pk_dtype_bytes(type);
}

static bool by_tensor_cores(enum pk_dtype type, enum pk_math math)
{
    return type == PK_BF16 || math != PK_MATH_IEEE;
}

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
    double ab = bytes_of(g->ab_type), c = bytes_of(g->c_type);
    double flops = 2 * m * n * k * batch;
    return (struct pk_work){.flops = flops,
                            .tensor_flops = by_tensor_cores(g->ab_type, g->math) ? flops : 0,
                            .bytes = (ab * (m * k + k * n) + c * c_passes * m * n) * batch};
}

struct pk_work pk_work_scale(enum pk_dtype type, size_t n)
{
    return (struct pk_work){.bytes = 2 * bytes_of(type) * (double)n};
}

struct pk_work pk_work_causal_mask(enum pk_dtype type, size_t batch, size_t seq)
{
    return (struct pk_work){.bytes = 2 * bytes_of(type) * (double)batch * pairs(seq, 0)};
}

struct pk_work pk_work_softmax(enum pk_dtype type, size_t rows, size_t cols)
{
    double n = (double)rows * (double)cols;
    return (struct pk_work){.bytes = 2 * bytes_of(type) * n, .exps = n};
}

struct pk_work pk_work_softmax_backward(enum pk_dtype type, size_t rows, size_t cols)
{
    return (struct pk_work){.bytes = 3 * bytes_of(type) * (double)rows * (double)cols};
}

/* products: matrix products over all pairs; score_passes: arrays of scores read or written; rows_passes:
 * arrays of [seq, dim] read or written; seq_passes: arrays of [seq], fp32, read or written; exps: exponentials per pair.
 */
struct attention_counts {
    double products, score_passes, row_passes, seq_passes, exps;
};

static struct pk_work attention_work(const struct attention_counts *c, const struct pk_attention *at)
{
    double b = (double)at->batch, s = (double)at->seq, d = (double)at->dim,
           all = b * pairs(at->seq, at->causal);
    double flops = 2 * c->products * all * d;
    return (struct pk_work){.flops = flops,
                            .tensor_flops = by_tensor_cores(at->dtype, at->math) ? flops : 0,
                            .bytes =
                                bytes_of(at->dtype) * (c->score_passes * all + c->row_passes * b * s * d) +
                                FLOAT * c->seq_passes * b * s,
                            .exps = c->exps * all};
}

/* S written, softmax in place, P read; q k v read, o written. */
struct pk_work pk_work_fused_forward(const struct pk_attention *at)
{
    static const struct attention_counts c = {.products = 2, .score_passes = 4, .row_passes = 4, .exps = 1};
    return attention_work(&c, at);
}

/* dP written; P and dP read, dS written; P, dS, dS read by three products. Those read d_o v, d_o, k, q and
 * write dv dq dk. */
struct pk_work pk_work_fused_backward(const struct pk_attention *at)
{
    static const struct attention_counts c = {.products = 4, .score_passes = 7, .row_passes = 8};
    return attention_work(&c, at);
}

/* What of either is softmax, and no product: S read and P written; P and dP read, dS written. */
struct pk_work pk_work_fused_softmax(const struct pk_attention *at, bool backward)
{
    static const struct attention_counts forward = {.score_passes = 2, .exps = 1}, back = {.score_passes = 3};
    return attention_work(backward ? &back : &forward, at);
}

/* q k v read, o and lse written. */
struct pk_work pk_work_flash_forward(const struct pk_attention *at)
{
    static const struct attention_counts c = {.products = 2, .row_passes = 4, .seq_passes = 1, .exps = 1};
    return attention_work(&c, at);
}

/* delta = rowsum(d_o * o): o d_o read, delta written; then q k v d_o lse delta read, dq dk dv written. Five
 * products: the scores again, dP, dV, dQ, dK. */
struct pk_work pk_work_flash_backward(const struct pk_attention *at)
{
    static const struct attention_counts c = {.products = 5, .row_passes = 9, .seq_passes = 3, .exps = 1};
    return attention_work(&c, at);
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

struct pk_work pk_work_table_patch(size_t n)
{
    return (struct pk_work){.bytes = (double)n * (sizeof(struct pk_table_patch) + sizeof(uint64_t))};
}
