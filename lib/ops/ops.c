/* Ops: the wrappers around the rows of the open device's table. */
#include "ops/ops.h"

#include "base/err.h"
#include "build_config.h"

#include <math.h>

const struct pk_ops *pk_ops_of(const struct pk_device *dev)
{
    static const struct pk_ops none;
    static const struct pk_ops *const tables[PK_DEVICE_KINDS] = {
        [PK_DEVICE_CPU] = &pk_ops_cpu,
        [PK_DEVICE_NULL] = &pk_ops_null,
#ifdef PK_HAVE_CUDA
        [PK_DEVICE_CUDA] = &pk_ops_cuda,
#endif
    };
    return tables[dev->kind] ? tables[dev->kind] : &none;
}

/* PK_E_UNAVAILABLE, with the op's name. */
static enum pk_code fail_missing_op(const struct pk_device *dev, const char *op, struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "%s cannot run on device %s", op, dev->ops->kind);
    pk_why(err, "that device has no kernel for it");
    return pk_fix(err, "choose another variant, or another --device");
}

/* The device's function for a row of the table, or an answer that it has none. */
#define PK_CALL(op, ...)                                                                                     \
    (pk_ops_of(dev)->op ? pk_ops_of(dev)->op(dev, __VA_ARGS__, err) : fail_missing_op(dev, #op, err))

/* The same, written down where the device is traced, with its declared work: a pk_work_* of what it is given, the one that the null device
 * passes (null_ops.c), and counted only there. It returns. */
#define PK_TRACED(family, work, op, ...)                                                                     \
    do {                                                                                                     \
        if (!dev->trace)                                                                                     \
            return PK_CALL(op, __VA_ARGS__);                                                                 \
        const struct pk_work declared = work;                                                                \
        const uint64_t begin_ns = pk_device_now_ns(dev);                                                     \
        const enum pk_code rc = PK_CALL(op, __VA_ARGS__);                                                    \
        if (!rc)                                                                                             \
            pk_trace_add(dev, #op, family, begin_ns, (struct pk_declared){declared.flops, declared.bytes});  \
        return rc;                                                                                           \
    } while (0)

enum pk_code pk_op_gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err)
{
    pk_assert(g->m && g->n && g->k && g->batch && g->a && g->b && g->c);
    pk_assert(g->c_type == g->ab_type || g->c_type == PK_FP32);
    PK_TRACED(g->of_attention ? PK_FAMILY_ATTENTION_MATMUL : PK_FAMILY_GEMM, pk_work_gemm(g), gemm, g);
}

enum pk_code pk_op_scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                         size_t n, struct pk_err *err)
{
    pk_assert(n && x && y);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_scale(type, n), scale, type, alpha, x, y, n);
}

enum pk_code pk_op_causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                               size_t batch, size_t seq, struct pk_err *err)
{
    pk_assert(batch && seq && x && y && x != y);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_causal_mask(type, batch, seq), causal_mask, type, x, y, batch,
              seq);
}

enum pk_code pk_op_softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                           size_t cols, struct pk_err *err)
{
    pk_assert(rows && cols && s && p);
    PK_TRACED(PK_FAMILY_SOFTMAX, pk_work_softmax(type, rows, cols), softmax, type, s, p, rows, cols);
}

enum pk_code pk_op_softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                    void *ds, size_t rows, size_t cols, struct pk_err *err)
{
    pk_assert(rows && cols && p && dp && ds && p != ds);
    PK_TRACED(PK_FAMILY_SOFTMAX, pk_work_softmax_backward(type, rows, cols), softmax_backward, type, p, dp,
              ds, rows, cols);
}

static void assert_forward(const struct pk_attention *at)
{
    pk_assert(at->batch && at->seq && at->dim && at->scale != 0 && at->q && at->k && at->v && at->o);
}

static void assert_backward(const struct pk_attention *at)
{
    assert_forward(at);
    pk_assert(at->d_o && at->dq && at->dk && at->dv);
}

/* Kernels of a captured graph go by their names, by which this one's are products and a softmax: it is declared as these. */
static bool is_unfused_taped(struct pk_device *dev, struct pk_work all, struct pk_work softmax)
{
    if (!dev->trace || !dev->trace->tape)
        return false;
    pk_trace_add(dev, "softmax", PK_FAMILY_SOFTMAX, 0, (struct pk_declared){0, softmax.bytes});
    pk_trace_add(dev, "products", PK_FAMILY_ATTENTION_MATMUL, 0,
                 (struct pk_declared){all.flops, all.bytes - softmax.bytes});
    return true;
}

enum pk_code pk_op_fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_forward(at);
    pk_assert(at->p);
    if (is_unfused_taped(dev, pk_work_fused_forward(at), pk_work_fused_softmax(at, false)))
        return PK_CALL(fused_forward, at);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_fused_forward(at), fused_forward, at);
}

enum pk_code pk_op_fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_backward(at);
    pk_assert(at->p);
    if (is_unfused_taped(dev, pk_work_fused_backward(at), pk_work_fused_softmax(at, true)))
        return PK_CALL(fused_backward, at);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_fused_backward(at), fused_backward, at);
}

enum pk_code pk_op_flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_forward(at);
    pk_assert(at->lse);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_forward(at), flash_forward, at);
}

enum pk_code pk_op_flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_backward(at);
    pk_assert(at->lse);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_backward(at), flash_backward, at);
}

static void assert_copies(const struct pk_copy2d *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pk_assert(
            !v[i].rows || !v[i].row_bytes ||
            (v[i].src && v[i].dst && v[i].src_stride >= v[i].row_bytes && v[i].dst_stride >= v[i].row_bytes));
}

enum pk_code pk_op_cudnn_prepare(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    pk_assert(at->batch && at->seq && at->dim && at->scale != 0);
    return PK_CALL(cudnn_prepare, at);
}

enum pk_code pk_op_cudnn_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    pk_assert(at->batch && at->seq && at->dim && at->q && at->k && at->v && at->o && at->lse);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_forward(at), cudnn_forward, at);
}

enum pk_code pk_op_cudnn_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    pk_assert(at->q && at->k && at->v && at->o && at->lse && at->d_o && at->dq && at->dk && at->dv);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_backward(at), cudnn_backward, at);
}

enum pk_code pk_op_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err)
{
    assert_copies(v, n);
    PK_TRACED(PK_FAMILY_COPY, pk_work_copy2d(v, n), copy2d, v, n);
}

enum pk_code pk_copies_make(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_copies *out,
                            struct pk_err *err)
{
    assert_copies(v, n);
    *out = (struct pk_copies){.v = v, .n = n};
    return n && pk_ops_of(dev)->lay_down ? pk_ops_of(dev)->lay_down(dev, out, err) : PK_OK;
}

void pk_copies_free(struct pk_device *dev, struct pk_copies *c)
{
    pk_device_free(dev, c->table);
    *c = (struct pk_copies){0};
}

enum pk_code pk_op_copies(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err)
{
    if (!c->table)
        PK_TRACED(PK_FAMILY_COPY, pk_work_copy2d(c->v, c->n), copy2d, c->v, c->n);
    PK_TRACED(PK_FAMILY_COPY, pk_work_copy2d(c->v, c->n), copies, c);
}

enum pk_code pk_op_fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++)
        pk_assert(!v[i].rows || !v[i].cols || (v[i].dst && v[i].columns >= v[i].cols));
    PK_TRACED(PK_FAMILY_COPY, pk_work_fill(v, n), fill, v, n);
}

enum pk_code pk_op_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                               size_t n, struct pk_err *err)
{
    if (!n)
        return PK_OK;
    pk_assert(table && v);
    PK_TRACED(PK_FAMILY_COPY, pk_work_table_patch(n), table_patch, table, v, n);
}

void pk_rope_table(float *rope_table, size_t seq, size_t dim, double base)
{
    pk_assert(rope_table && seq && dim && dim % 2 == 0 && base > 0);
    for (size_t t = 0; t < seq; t++)
        for (size_t i = 0; i < dim / 2; i++) {
            const double angle = (double)t * pow(base, -2.0 * (double)i / (double)dim);
            *rope_table++ = (float)cos(angle);
            *rope_table++ = (float)sin(angle);
        }
}

enum pk_code pk_op_embed(struct pk_device *dev, const struct pk_embed *e, struct pk_err *err)
{
    pk_assert(e->rows && e->cols && e->vocab && e->tokens && e->table && e->out);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_embed(e), embed, e);
}

enum pk_code pk_op_embed_backward(struct pk_device *dev, const struct pk_embed_backward *e,
                                  struct pk_err *err)
{
    pk_assert(e->rows && e->cols && e->vocab && e->tokens && e->d_out && e->d_table);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_embed_backward(e), embed_backward, e);
}

enum pk_code pk_op_norm(struct pk_device *dev, const struct pk_norm *n, struct pk_err *err)
{
    pk_assert(n->rows && n->cols && n->x && n->w && n->y && !n->delta == !n->sum);
    pk_assert(n->y != n->x && n->y != n->delta && n->y != n->sum);
    PK_TRACED(PK_FAMILY_NORM, pk_work_norm(n), norm, n);
}

enum pk_code pk_op_norm_backward(struct pk_device *dev, const struct pk_norm_backward *n, struct pk_err *err)
{
    pk_assert(n->rows && n->cols && n->s && n->w && n->rstd && n->d_y && n->d_x && n->d_w);
    pk_assert(n->d_x != n->s);
    PK_TRACED(PK_FAMILY_NORM, pk_work_norm_backward(n), norm_backward, n);
}

static void assert_heads(const struct pk_heads *h)
{
    pk_assert(h->batch && h->seq && h->heads && h->dim && h->parts >= 1 && h->parts <= 3 && h->rows);
    pk_assert(pk_heads_stride(h) >= h->parts * h->heads * h->dim);
    pk_assert(h->rotated < 1u << h->parts &&
              (!h->rotated || (h->rope_table && h->dim % 2 == 0 && pk_heads_stride(h) % 2 == 0)));
    for (unsigned p = 0; p < h->parts; p++)
        pk_assert(h->head[p] && (h->head[p] != h->rows ||
                                 (h->heads == 1 && h->parts == 1 && !h->stride && pk_heads_repeat(h) == 1)));
}

enum pk_code pk_op_split_heads(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err)
{
    assert_heads(h);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_heads(h), split_heads, h);
}

enum pk_code pk_op_merge_heads(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err)
{
    assert_heads(h);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_heads(h), merge_heads, h);
}

enum pk_code pk_op_map(struct pk_device *dev, enum pk_map map, enum pk_dtype type, const void *a,
                       const void *b, void *y, size_t n, struct pk_err *err)
{
    pk_assert(map < PK_MAPS && n && a && (b || map == PK_MAP_SILU) && y);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_map(map, type, n), map, map, type, a, b, y, n);
}

enum pk_code pk_op_glu(struct pk_device *dev, const struct pk_glu *g, struct pk_err *err)
{
    pk_assert(g->rows && g->cols && g->stride >= g->cols && g->gate && g->up && g->y);
    pk_assert(g->y != g->gate && g->y != g->up);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_glu(g), glu, g);
}

enum pk_code pk_op_glu_backward(struct pk_device *dev, const struct pk_glu_backward *g, struct pk_err *err)
{
    pk_assert(g->rows && g->cols && g->stride >= g->cols && g->gate && g->up && g->d_y);
    pk_assert(g->d_gate && g->d_up && g->d_gate != g->d_up);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_glu_backward(g), glu_backward, g);
}

enum pk_code pk_op_cross_entropy(struct pk_device *dev, const struct pk_cross_entropy *x, struct pk_err *err)
{
    pk_assert(x->rows && x->cols && x->stride >= x->cols && x->logits && x->targets && x->losses);
    PK_TRACED(PK_FAMILY_LOSS, pk_work_cross_entropy(x), cross_entropy, x);
}

enum pk_code pk_op_log_softmax(struct pk_device *dev, const struct pk_log_softmax *x, struct pk_err *err)
{
    pk_assert(x->rows && x->cols && x->logits && x->logp);
    PK_TRACED(PK_FAMILY_LOSS, pk_work_log_softmax(x), log_softmax, x);
}

enum pk_code pk_op_nll(struct pk_device *dev, const struct pk_nll *x, struct pk_err *err)
{
    pk_assert(x->rows && x->cols && x->logp && x->targets && x->losses);
    PK_TRACED(PK_FAMILY_LOSS, pk_work_nll(x), nll, x);
}

enum pk_code pk_op_nll_backward(struct pk_device *dev, const struct pk_nll_backward *x, struct pk_err *err)
{
    pk_assert(x->rows && x->cols && x->logp && x->targets && x->d_logits);
    PK_TRACED(PK_FAMILY_LOSS, pk_work_nll_backward(x), nll_backward, x);
}

enum pk_code pk_op_mean(struct pk_device *dev, const float *x, size_t n, float *out, struct pk_err *err)
{
    pk_assert(n && x && out);
    PK_TRACED(PK_FAMILY_LOSS, pk_work_mean(n), mean, x, n, out);
}

enum pk_code pk_op_adamw_tick(struct pk_device *dev, struct pk_adamw_state *state, struct pk_err *err)
{
    pk_assert(state);
    PK_TRACED(PK_FAMILY_OPTIMIZER, pk_work_adamw_tick(), adamw_tick, state);
}

enum pk_code pk_op_adamw(struct pk_device *dev, const struct pk_adamw *a, struct pk_err *err)
{
    const unsigned of = a->passes, denom = PK_ADAMW_DENOM, update = PK_ADAMW_UPDATE;
    pk_assert(a->n && of && of < 2 * PK_ADAMW_NARROW && (a->state || of == PK_ADAMW_NARROW));
    pk_assert(a->p || !(of & (PK_ADAMW_DECAY | PK_ADAMW_UPDATE | PK_ADAMW_NARROW)));
    pk_assert(a->g || !(of & (PK_ADAMW_FIRST | PK_ADAMW_SECOND)));
    pk_assert(a->m || !(of & (PK_ADAMW_FIRST | PK_ADAMW_UPDATE)));
    pk_assert(a->v || !(of & (PK_ADAMW_SECOND | PK_ADAMW_DENOM)));
    pk_assert(a->scratch || !(of & denom) == !(of & update));
    pk_assert(a->narrow || !(of & PK_ADAMW_NARROW));
    PK_TRACED(PK_FAMILY_OPTIMIZER, pk_work_adamw(a), adamw, a);
}
