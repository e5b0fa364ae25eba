/* Work: what each op must do, from its shapes. */
#include "ops/ops.h"

#include <stdbool.h>

enum { FLOAT = sizeof(float), TOKEN = sizeof(int32_t) };

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
        w.bytes += bytes_of(v[i].dtype) * (double)v[i].rows * (double)v[i].cols;
    return w;
}

struct pk_work pk_work_table_patch(size_t n)
{
    return (struct pk_work){.bytes = (double)n * (sizeof(struct pk_table_patch) + sizeof(uint64_t))};
}

struct pk_work pk_work_embed(const struct pk_embed *e)
{
    const double rows = (double)e->rows, n = rows * (double)e->cols;
    return (struct pk_work){.bytes = TOKEN * rows + 2 * bytes_of(e->dtype) * n};
}

/* Sums are gathered row by row of the table, which is written once; with `add` the rows of at most as many tokens are read and written. */
struct pk_work pk_work_embed_backward(const struct pk_embed_backward *e)
{
    const double rows = (double)e->rows, cols = (double)e->cols;
    const double table = e->add ? 2 * (double)(e->rows < e->vocab ? e->rows : e->vocab) : (double)e->vocab;
    return (struct pk_work){.bytes = TOKEN * rows + bytes_of(e->dtype) * rows * cols + FLOAT * table * cols};
}

struct pk_work pk_work_norm(const struct pk_norm *n)
{
    const double rows = (double)n->rows, cols = (double)n->cols;
    const double passes = n->delta ? 4 : 2; /* x, delta, sum, y */
    return (struct pk_work){.bytes = passes * bytes_of(n->dtype) * rows * cols + FLOAT * cols +
                                     (n->rstd ? FLOAT * rows : 0)};
}

struct pk_work pk_work_norm_backward(const struct pk_norm_backward *n)
{
    const double rows = (double)n->rows, cols = (double)n->cols;
    const double passes = n->d_s ? 4 : 3; /* s, d_y, d_s, d_x */
    return (struct pk_work){.bytes = passes * bytes_of(n->dtype) * rows * cols +
                                     FLOAT * ((n->add ? 3 : 2) * cols + rows)};
}

struct pk_work pk_work_heads(const struct pk_heads *h)
{
    const double seq = (double)h->seq, dim = (double)h->dim;
    const double n = (double)h->batch * seq * (double)h->parts * (double)h->heads * dim;
    const double arrays = 1 + (double)pk_heads_repeat(h);
    return (struct pk_work){.bytes = arrays * bytes_of(h->dtype) * n + (h->rotated ? FLOAT * seq * dim : 0)};
}

struct pk_work pk_work_map(enum pk_map map, enum pk_dtype type, size_t n)
{
    static const struct {
        double arrays, exps;
    } of[PK_MAPS] = {
        [PK_MAP_ADD] = {3, 0},
        [PK_MAP_MUL] = {3, 0},
        [PK_MAP_SILU] = {2, 1},
        [PK_MAP_SILU_BACKWARD] = {3, 1},
    };
    return (struct pk_work){.bytes = of[map].arrays * bytes_of(type) * (double)n,
                            .exps = of[map].exps * (double)n};
}

struct pk_work pk_work_glu(const struct pk_glu *g)
{
    const double n = (double)g->rows * (double)g->cols;
    return (struct pk_work){.bytes = 3 * bytes_of(g->dtype) * n, .exps = n};
}

struct pk_work pk_work_glu_backward(const struct pk_glu_backward *g)
{
    const double n = (double)g->rows * (double)g->cols;
    const double passes = g->y ? 6 : 5; /* gate, up, d_y, d_gate, d_up, y */
    return (struct pk_work){.bytes = passes * bytes_of(g->dtype) * n, .exps = n};
}

/* An exponential for each logit, however a device gets at it the second time, and a logarithm for each row. */
struct pk_work pk_work_cross_entropy(const struct pk_cross_entropy *x)
{
    const double rows = (double)x->rows, cols = (double)x->cols;
    const double touched = cols + (x->d_logits ? (double)x->stride : 0);
    return (struct pk_work){.bytes = rows * (bytes_of(x->dtype) * touched + TOKEN + FLOAT),
                            .exps = rows * (cols + 1)};
}

struct pk_work pk_work_log_softmax(const struct pk_log_softmax *x)
{
    const double rows = (double)x->rows, cols = (double)x->cols;
    return (struct pk_work){.bytes = rows * cols * (bytes_of(x->dtype) + FLOAT), .exps = rows * (cols + 1)};
}

struct pk_work pk_work_nll(const struct pk_nll *x)
{
    return (struct pk_work){.bytes = (double)x->rows * (FLOAT + TOKEN + FLOAT)};
}

struct pk_work pk_work_nll_backward(const struct pk_nll_backward *x)
{
    const double rows = (double)x->rows, n = rows * (double)x->cols;
    return (struct pk_work){.bytes = n * (FLOAT + bytes_of(x->dtype)) + TOKEN * rows, .exps = n};
}

struct pk_work pk_work_mean(size_t n)
{
    return (struct pk_work){.bytes = FLOAT * ((double)n + 1)};
}

struct pk_work pk_work_adamw_tick(void)
{
    return (struct pk_work){.bytes = 6 * FLOAT};
}

/* Passes that are requested together read and write an array once. */
struct pk_work pk_work_adamw(const struct pk_adamw *a)
{
    const unsigned both = PK_ADAMW_DENOM | PK_ADAMW_UPDATE;
    const unsigned by_scratch = (a->passes & both) == both ? 0 : a->passes & both;
    const struct {
        unsigned read_by, written_by;
        double bytes;
    } arrays[] = {
        {PK_ADAMW_DECAY | PK_ADAMW_UPDATE | PK_ADAMW_NARROW, PK_ADAMW_DECAY | PK_ADAMW_UPDATE, FLOAT}, /* p */
        {PK_ADAMW_FIRST | PK_ADAMW_UPDATE, PK_ADAMW_FIRST, FLOAT},                                     /* m */
        {PK_ADAMW_SECOND | PK_ADAMW_DENOM, PK_ADAMW_SECOND, FLOAT},                                    /* v */
        {PK_ADAMW_FIRST | PK_ADAMW_SECOND, 0, bytes_of(a->g_type)},                                    /* g */
        {by_scratch & PK_ADAMW_UPDATE, by_scratch & PK_ADAMW_DENOM, FLOAT}, /* scratch */
        {0, PK_ADAMW_NARROW, bytes_of(PK_BF16)},
    };
    double bytes = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        bytes += arrays[i].bytes * (!!(a->passes & arrays[i].read_by) + !!(a->passes & arrays[i].written_by));
    return (struct pk_work){.bytes = bytes * (double)a->n};
}
