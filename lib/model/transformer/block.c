/* Block: one layer and its gradients, in many operations or few. */
#include "model/transformer/transformer_private.h"

/* The residual stream becomes the block's input. */
static void enter(struct pk_model_pass *p, size_t layer, struct pk_stream *s, bool all)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    b->n1 = pk_pass_norm(p, pk_layout_block(&p->t->layout, layer, PK_NORM1), s->x, s->delta,
                         all ? &b->rstd1 : NULL);
    b->s1 = s->delta ? s->delta : s->x;
    if (s->delta && !s->x_saved)
        PK_PASS_DROP(p, s->x);
    *s = (struct pk_stream){0};
}

static void replace(struct pk_model_pass *p, void **x, void *y)
{
    pk_device_free(p->dev, *x);
    *x = y;
}

/* q, k and v by heads, q and k rotated; as many heads of each. */
static void project(struct pk_model_pass *p, size_t layer, struct pk_block_saved *b)
{
    if (p->t->c.fused) {
        void *qkv = pk_pass_product(p, pk_pass_weight(p, layer, PK_Q, 3), b->n1), *head[3];
        pk_pass_split_qkv(p, qkv, head);
        b->q = head[0], b->k = head[1], b->v = head[2];
        PK_PASS_DROP(p, qkv);
        return;
    }
    const size_t all = p->t->c.heads, kv = pk_transformer_kv_heads(&p->t->c);
    void **to[] = {&b->q, &b->k, &b->v};
    for (unsigned i = 0; i < 3; i++) {
        void *rows = pk_pass_product(p, pk_pass_weight(p, layer, PK_Q + i, 1), b->n1), *head;
        pk_pass_split(p, i ? kv : all, rows, 1, 0, &head);
        PK_PASS_DROP(p, rows);
        if (i < 2)
            replace(p, &head, pk_pass_rotate(p, i ? kv : all, head, false));
        if (i && kv < all)
            replace(p, &head, pk_pass_repeat(p, head, false));
        *to[i] = head;
    }
}

static void drop_attention(struct pk_model_pass *p, struct pk_block_saved *b)
{
    pk_attention_forget(p->dev, &b->attention);
    PK_PASS_DROP(p, b->q);
    PK_PASS_DROP(p, b->k);
    PK_PASS_DROP(p, b->v);
}

/* The first half: s2 = s1 + attention(norm(s1)), and n2 its norm. */
static void attention_half(struct pk_model_pass *p, size_t layer, enum pk_keep keep)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    const struct pk_parameter *norm2 = pk_layout_block(&p->t->layout, layer, PK_NORM2);
    const bool all = keep == PK_KEEP_ALL, fused = p->t->c.fused;
    project(p, layer, b);
    if (!all)
        PK_PASS_DROP(p, b->n1);
    const struct pk_transformer_config *c = &p->t->c;
    b->attention =
        (struct pk_attention_step){.s = pk_transformer_attention(c), .q = b->q, .k = b->k, .v = b->v};
    PK_PASS_RUN(p, pk_attention_forward(p->dev, c->attention, &b->attention, p->err));
    b->context = pk_pass_merge(p, c->heads, &b->attention.o, 1, 0);
    if (!all)
        drop_attention(p, b);
    void *a = pk_pass_product(p, pk_pass_weight(p, layer, PK_O, 1), b->context);
    if (!all || fused)
        PK_PASS_DROP(p, b->context);
    if (fused) {
        b->n2 = pk_pass_norm(p, norm2, b->s1, a, all ? &b->rstd2 : NULL);
        b->s2 = a;
    } else {
        b->s2 = pk_pass_map(p, PK_MAP_ADD, b->s1, a, pk_pass_tokens(p) * p->t->c.width);
        PK_PASS_DROP(p, a);
        b->n2 = pk_pass_norm(p, norm2, b->s2, NULL, all ? &b->rstd2 : NULL);
    }
    if (keep == PK_KEEP_NOTHING)
        PK_PASS_DROP(p, b->s1);
}

static void project_gates(struct pk_model_pass *p, size_t layer, struct pk_block_saved *b, bool all)
{
    const bool fused = p->t->c.fused;
    b->gate = pk_pass_product(p, pk_pass_weight(p, layer, PK_GATE, fused ? 2 : 1), b->n2);
    if (!fused)
        b->up = pk_pass_product(p, pk_pass_weight(p, layer, PK_UP, 1), b->n2);
    if (!all)
        PK_PASS_DROP(p, b->n2);
}

/* silu(gate) * up, to h. */
static void activate(struct pk_model_pass *p, struct pk_block_saved *b, bool all)
{
    const size_t n = pk_transformer_tokens(&p->t->c) * p->t->c.ff;
    if (p->t->c.fused) {
        const struct pk_transformer_config *c = &p->t->c;
        const size_t rows = pk_transformer_tokens(c);
        const struct pk_glu g = {.rows = rows,
                                 .cols = c->ff,
                                 .stride = 2 * c->ff,
                                 .dtype = c->dtype,
                                 .gate = b->gate,
                                 .up = pk_pass_at(p, b->gate, c->ff),
                                 .y = b->h = pk_pass_take(p, rows * c->ff)};
        PK_PASS_RUN(p, pk_op_glu(p->dev, &g, p->err));
    } else {
        b->act = pk_pass_map(p, PK_MAP_SILU, b->gate, NULL, n);
        b->h = pk_pass_map(p, PK_MAP_MUL, b->act, b->up, n);
    }
    if (all)
        return;
    PK_PASS_DROP(p, b->gate);
    PK_PASS_DROP(p, b->up);
    PK_PASS_DROP(p, b->act);
}

/* The second half: the stream is s2 and what the gated unit adds to it. */
static void leave(struct pk_model_pass *p, size_t layer, struct pk_stream *s, bool all)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    void *down = pk_pass_product(p, pk_pass_weight(p, layer, PK_DOWN, 1), b->h);
    const bool fused = p->t->c.fused;
    if (!all || fused)
        PK_PASS_DROP(p, b->h);
    if (fused) {
        *s = (struct pk_stream){.x = b->s2, .delta = down, .x_saved = all};
        b->s2 = all ? b->s2 : NULL;
        return;
    }
    s->x = pk_pass_map(p, PK_MAP_ADD, b->s2, down, pk_pass_tokens(p) * p->t->c.width);
    PK_PASS_DROP(p, down);
    if (!all)
        PK_PASS_DROP(p, b->s2);
}

void pk_block_forward(struct pk_model_pass *p, size_t layer, struct pk_stream *s, enum pk_keep keep)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    const bool all = keep == PK_KEEP_ALL;
    enter(p, layer, s, all);
    attention_half(p, layer, keep);
    project_gates(p, layer, b, all);
    activate(p, b, all);
    leave(p, layer, s, all);
}

/* Makes what PK_KEEP_ALL keeps from what PK_KEEP_INPUT kept. */
static void make_again(struct pk_model_pass *p, size_t layer)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    struct pk_stream s = {.x = b->s1};
    enter(p, layer, &s, true);
    attention_half(p, layer, PK_KEEP_ALL);
    project_gates(p, layer, b, true);
    if (!p->t->c.fused)
        activate(p, b, true);
}

void pk_block_drop(struct pk_model_pass *p, struct pk_block_saved *b)
{
    drop_attention(p, b);
    void *const all[] = {b->s1,    b->n1,   b->rstd1, b->context, b->s2, b->n2,
                         b->rstd2, b->gate, b->up,    b->act,     b->h};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pk_device_free(p->dev, all[i]);
    *b = (struct pk_block_saved){0};
}

/* Gradients of gate and up in their place, and h made again in the place of d_h. */
static void glu_backward(struct pk_model_pass *p, struct pk_block_saved *b, void *d_h)
{
    const struct pk_transformer_config *c = &p->t->c;
    void *up = pk_pass_at(p, b->gate, c->ff);
    const struct pk_glu_backward g = {.rows = pk_pass_tokens(p),
                                      .cols = c->ff,
                                      .stride = 2 * c->ff,
                                      .dtype = c->dtype,
                                      .gate = b->gate,
                                      .up = up,
                                      .d_y = d_h,
                                      .d_gate = b->gate,
                                      .d_up = up,
                                      .y = d_h};
    PK_PASS_RUN(p, pk_op_glu_backward(p->dev, &g, p->err));
}

/* Gradient of n2, taken, from that of the block's result. */
static void *gated_unit_fused(struct pk_model_pass *p, size_t layer, struct pk_block_saved *b, const void *d)
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
static void *gated_unit_unfused(struct pk_model_pass *p, size_t layer, struct pk_block_saved *b,
                                const void *d)
{
    const struct pk_weight down = pk_pass_weight(p, layer, PK_DOWN, 1);
    const struct pk_weight gate = pk_pass_weight(p, layer, PK_GATE, 1),
                           up = pk_pass_weight(p, layer, PK_UP, 1);
    const size_t n = pk_pass_tokens(p) * p->t->c.ff;
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
    pk_pass_add(p, d_n2, more, pk_pass_tokens(p) * p->t->c.width);
    PK_PASS_DROP(p, more);
    return d_n2;
}

/* From the gradient of s2 to those of q, k and v, in b->attention. */
static void attend_back(struct pk_model_pass *p, size_t layer, struct pk_block_saved *b, const void *d)
{
    const struct pk_weight o = pk_pass_weight(p, layer, PK_O, 1);
    void *d_context = pk_pass_product_back(p, o, d), *d_o;
    if (p->t->c.fused)
        b->context = pk_pass_merge(p, p->t->c.heads, &b->attention.o, 1, 0);
    pk_pass_weight_gradient(p, o, d, b->context);
    PK_PASS_DROP(p, b->context);
    pk_pass_split(p, p->t->c.heads, d_context, 1, 0, &d_o);
    PK_PASS_DROP(p, d_context);
    b->attention.d_o = d_o;
    PK_PASS_RUN(p, pk_attention_backward(p->dev, p->t->c.attention, &b->attention, p->err));
    b->attention.d_o = NULL;
    PK_PASS_DROP(p, d_o);
}

/* Gradient of n1, taken, from those of q, k and v. */
static void *project_back_fused(struct pk_model_pass *p, size_t layer, struct pk_block_saved *b)
{
    const struct pk_weight qkv = pk_pass_weight(p, layer, PK_Q, 3);
    void *const heads[] = {b->attention.dq, b->attention.dk, b->attention.dv};
    void *d_qkv = pk_pass_merge_qkv(p, heads);
    drop_attention(p, b);
    pk_pass_weight_gradient(p, qkv, d_qkv, b->n1);
    void *d_n1 = pk_pass_product_back(p, qkv, d_qkv);
    PK_PASS_DROP(p, d_qkv);
    return d_n1;
}

static void *project_back_unfused(struct pk_model_pass *p, size_t layer, struct pk_block_saved *b)
{
    const size_t all = p->t->c.heads, kv = pk_transformer_kv_heads(&p->t->c);
    void *rows[3], *d_n1 = NULL;
    for (unsigned i = 0; i < 3; i++) {
        void *heads[] = {b->attention.dq, b->attention.dk, b->attention.dv};
        void *sum = i && kv < all ? pk_pass_repeat(p, heads[i], true) : NULL;
        void *rotated = i < 2 ? pk_pass_rotate(p, i ? kv : all, sum ? sum : heads[i], true) : NULL;
        rows[i] = pk_pass_merge(p, i ? kv : all, rotated ? &rotated : sum ? &sum : &heads[i], 1, 0);
        PK_PASS_DROP(p, rotated);
        PK_PASS_DROP(p, sum);
    }
    drop_attention(p, b);
    for (unsigned i = 0; i < 3; i++) {
        const struct pk_weight w = pk_pass_weight(p, layer, PK_Q + i, 1);
        void *part = pk_pass_product_back(p, w, rows[i]);
        pk_pass_weight_gradient(p, w, rows[i], b->n1);
        PK_PASS_DROP(p, rows[i]);
        if (!d_n1) {
            d_n1 = part;
            continue;
        }
        pk_pass_add(p, d_n1, part, pk_pass_tokens(p) * p->t->c.width);
        PK_PASS_DROP(p, part);
    }
    return d_n1;
}

void pk_block_backward(struct pk_model_pass *p, size_t layer, void **d)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    const struct pk_layout *l = &p->t->layout;
    const bool fused = p->t->c.fused;
    if (p->t->kept == PK_KEEP_INPUT)
        make_again(p, layer);
    void *d_n = (fused ? gated_unit_fused : gated_unit_unfused)(p, layer, b, *d);
    PK_PASS_DROP(p, b->n2);
    pk_pass_norm_back(p, pk_layout_block(l, layer, PK_NORM2), b->s2, b->rstd2, &d_n, d, true);
    PK_PASS_DROP(p, b->s2);
    PK_PASS_DROP(p, b->rstd2);
    attend_back(p, layer, b, *d);
    d_n = (fused ? project_back_fused : project_back_unfused)(p, layer, b);
    PK_PASS_DROP(p, b->n1);
    pk_pass_norm_back(p, pk_layout_block(l, layer, PK_NORM1), b->s1, b->rstd1, &d_n, d, true);
    PK_PASS_DROP(p, b->s1);
    PK_PASS_DROP(p, b->rstd1);
}
