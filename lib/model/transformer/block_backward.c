/* Block backward: one layer's gradients, in many operations or few. */
#include "model/transformer/pass.h"

static size_t tokens(const struct pk_pass *p)
{
    return pk_transformer_tokens(&p->t->c);
}

/* Gradients of gate and up in their place, and h made again in the place of d_h. */
static void glu_backward(struct pk_pass *p, struct pk_block_saved *b, void *d_h)
{
    const struct pk_transformer_config *c = &p->t->c;
    void *up = pk_pass_at(p, b->gate, c->ff);
    const struct pk_glu_backward g = {.rows = tokens(p),
                                      .cols = c->ff,
                                      .stride = 2 * c->ff,
                                      .dtype = c->dtype,
                                      .gate = b->gate,
                                      .up = up,
                                      .d_y = d_h,
                                      .d_gate = b->gate,
                                      .d_up = up,
                                      .y = d_h};
    if (!p->rc)
        p->rc = pk_op_glu_backward(p->dev, &g, p->err);
}

/* Gradient of n2, taken, from that of the block's result. */
static void *gated_unit_fused(struct pk_pass *p, size_t layer, struct pk_block_saved *b, const void *d)
{
    const struct pk_weight down = pk_pass_weight(p, layer, PK_DOWN, 1);
    const struct pk_weight gates = pk_pass_weight(p, layer, PK_GATE, 2);
    void *d_h = pk_pass_product_back(p, down, d);
    glu_backward(p, b, d_h);
    pk_pass_weight_gradient(p, down, d, d_h);
    PK_PASS_DROP(p, d_h);
    pk_pass_weight_gradient(p, gates, b->gate, b->n2);
    void *d_n2 = pk_pass_product_back(p, gates, b->gate);
    PK_PASS_DROP(p, b->gate);
    return d_n2;
}

/* The same with an operation for each step. */
static void *gated_unit_apart(struct pk_pass *p, size_t layer, struct pk_block_saved *b, const void *d)
{
    const struct pk_weight down = pk_pass_weight(p, layer, PK_DOWN, 1);
    const struct pk_weight gate = pk_pass_weight(p, layer, PK_GATE, 1),
                           up = pk_pass_weight(p, layer, PK_UP, 1);
    const size_t n = tokens(p) * p->t->c.ff;
    void *d_h = pk_pass_product_back(p, down, d);
    pk_pass_weight_gradient(p, down, d, b->h);
    PK_PASS_DROP(p, b->h);
    void *d_act = pk_pass_map(p, PK_MAP_MUL, d_h, b->up, n);
    void *d_up = pk_pass_map(p, PK_MAP_MUL, d_h, b->act, n);
    PK_PASS_DROP(p, d_h);
    PK_PASS_DROP(p, b->up);
    PK_PASS_DROP(p, b->act);
    void *d_gate = pk_pass_map(p, PK_MAP_SILU_BACKWARD, b->gate, d_act, n);
    PK_PASS_DROP(p, d_act);
    PK_PASS_DROP(p, b->gate);
    void *d_n2 = pk_pass_product_back(p, up, d_up);
    pk_pass_weight_gradient(p, up, d_up, b->n2);
    PK_PASS_DROP(p, d_up);
    void *more = pk_pass_product_back(p, gate, d_gate);
    pk_pass_weight_gradient(p, gate, d_gate, b->n2);
    PK_PASS_DROP(p, d_gate);
    pk_pass_add(p, d_n2, more, tokens(p) * p->t->c.width);
    PK_PASS_DROP(p, more);
    return d_n2;
}

/* From the gradient of s2 to those of q, k and v, in b->attention. */
static void attend_back(struct pk_pass *p, size_t layer, struct pk_block_saved *b, const void *d)
{
    const struct pk_weight o = pk_pass_weight(p, layer, PK_O, 1);
    void *d_context = pk_pass_product_back(p, o, d), *d_o;
    if (p->t->c.fused)
        b->context = pk_pass_merge(p, &b->attention.o, 1, 0);
    pk_pass_weight_gradient(p, o, d, b->context);
    PK_PASS_DROP(p, b->context);
    pk_pass_split(p, d_context, 1, 0, &d_o);
    PK_PASS_DROP(p, d_context);
    b->attention.d_o = d_o;
    if (!p->rc)
        p->rc = pk_attention_backward(p->dev, p->t->c.attention, &b->attention, p->err);
    b->attention.d_o = NULL;
    PK_PASS_DROP(p, d_o);
}

/* Gradient of n1, taken, from those of q, k and v. */
static void *project_back_fused(struct pk_pass *p, size_t layer, struct pk_block_saved *b)
{
    const struct pk_weight qkv = pk_pass_weight(p, layer, PK_Q, 3);
    void *const heads[] = {b->attention.dq, b->attention.dk, b->attention.dv};
    void *d_qkv = pk_pass_merge(p, heads, 3, 3);
    pk_block_drop_attention(p, b);
    pk_pass_weight_gradient(p, qkv, d_qkv, b->n1);
    void *d_n1 = pk_pass_product_back(p, qkv, d_qkv);
    PK_PASS_DROP(p, d_qkv);
    return d_n1;
}

static void *project_back_apart(struct pk_pass *p, size_t layer, struct pk_block_saved *b)
{
    void *rows[3], *d_n1 = NULL;
    for (unsigned i = 0; i < 3; i++) {
        void *heads[] = {b->attention.dq, b->attention.dk, b->attention.dv};
        void *turned = i < 2 ? pk_pass_turn(p, heads[i], true) : NULL;
        rows[i] = pk_pass_merge(p, turned ? &turned : &heads[i], 1, 0);
        PK_PASS_DROP(p, turned);
    }
    pk_block_drop_attention(p, b);
    for (unsigned i = 0; i < 3; i++) {
        const struct pk_weight w = pk_pass_weight(p, layer, PK_Q + i, 1);
        void *part = pk_pass_product_back(p, w, rows[i]);
        pk_pass_weight_gradient(p, w, rows[i], b->n1);
        PK_PASS_DROP(p, rows[i]);
        if (!d_n1) {
            d_n1 = part;
            continue;
        }
        pk_pass_add(p, d_n1, part, tokens(p) * p->t->c.width);
        PK_PASS_DROP(p, part);
    }
    return d_n1;
}

void pk_block_backward(struct pk_pass *p, size_t layer, void **d)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    const struct pk_layout *l = &p->t->layout;
    const bool fused = p->t->c.fused;
    if (p->t->kept == PK_KEEP_INPUT)
        pk_block_again(p, layer);
    void *d_n = (fused ? gated_unit_fused : gated_unit_apart)(p, layer, b, *d);
    PK_PASS_DROP(p, b->n2);
    pk_pass_norm_back(p, pk_layout_block(l, layer, PK_NORM2), b->s2, b->rstd2, &d_n, d, true);
    PK_PASS_DROP(p, b->s2);
    PK_PASS_DROP(p, b->rstd2);
    attend_back(p, layer, b, *d);
    d_n = (fused ? project_back_fused : project_back_apart)(p, layer, b);
    PK_PASS_DROP(p, b->n1);
    pk_pass_norm_back(p, pk_layout_block(l, layer, PK_NORM1), b->s1, b->rstd1, &d_n, d, true);
    PK_PASS_DROP(p, b->s1);
    PK_PASS_DROP(p, b->rstd1);
}
