/* Layers: the wrappers around the open device's rows. */
#include "ops/layers.h"

#include "base/err.h"
#include "ops/call.h"

#include <math.h>

void pk_rope_turns(float *turns, size_t seq, size_t dim, double base)
{
    pk_assert(turns && seq && dim && dim % 2 == 0 && base > 0);
    for (size_t t = 0; t < seq; t++)
        for (size_t i = 0; i < dim / 2; i++) {
            const double angle = (double)t * pow(base, -2.0 * (double)i / (double)dim);
            *turns++ = (float)cos(angle);
            *turns++ = (float)sin(angle);
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
    pk_assert(h->turned < 1u << h->parts && (!h->turned || (h->turns && h->dim % 2 == 0)));
    for (unsigned p = 0; p < h->parts; p++)
        pk_assert(h->head[p] && (h->head[p] != h->rows || (h->heads == 1 && h->parts == 1)));
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
