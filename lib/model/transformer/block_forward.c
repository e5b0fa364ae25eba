/* Block forward: one layer, in many operations or few. */
#include "model/transformer/pass.h"

static size_t elements(const struct pk_pass *p)
{
    return pk_transformer_tokens(&p->t->c) * p->t->c.width;
}

/* The residual stream becomes the block's input. */
static void enter(struct pk_pass *p, size_t layer, struct pk_stream *s, bool all)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    b->n1 = pk_pass_norm(p, pk_layout_block(&p->t->layout, layer, PK_NORM1), s->x, s->delta,
                         all ? &b->rstd1 : NULL);
    b->s1 = s->delta ? s->delta : s->x;
    if (s->delta && !s->x_saved)
        PK_PASS_DROP(p, s->x);
    *s = (struct pk_stream){0};
}

/* q, k and v by heads, q and k turned. */
static void project(struct pk_pass *p, size_t layer, struct pk_block_saved *b)
{
    if (p->t->c.fused) {
        void *qkv = pk_pass_product(p, pk_pass_weight(p, layer, PK_Q, 3), b->n1), *head[3];
        pk_pass_split(p, qkv, 3, 3, head);
        b->q = head[0], b->k = head[1], b->v = head[2];
        PK_PASS_DROP(p, qkv);
        return;
    }
    void **to[] = {&b->q, &b->k, &b->v};
    for (unsigned i = 0; i < 3; i++) {
        void *rows = pk_pass_product(p, pk_pass_weight(p, layer, PK_Q + i, 1), b->n1), *head;
        pk_pass_split(p, rows, 1, 0, &head);
        PK_PASS_DROP(p, rows);
        *to[i] = i < 2 ? pk_pass_turn(p, head, false) : head;
        if (i < 2)
            PK_PASS_DROP(p, head);
    }
}

static void attend(struct pk_pass *p, struct pk_block_saved *b)
{
    const struct pk_transformer_config *c = &p->t->c;
    b->attention =
        (struct pk_attention_step){.s = pk_transformer_attention(c), .q = b->q, .k = b->k, .v = b->v};
    if (!p->rc)
        p->rc = pk_attention_forward(p->dev, c->attention, &b->attention, p->err);
}

void pk_block_drop_attention(struct pk_pass *p, struct pk_block_saved *b)
{
    pk_attention_forget(p->dev, &b->attention);
    PK_PASS_DROP(p, b->q);
    PK_PASS_DROP(p, b->k);
    PK_PASS_DROP(p, b->v);
}

/* The first half: s2 = s1 + attention(norm(s1)), and n2 its norm. */
static void attention_half(struct pk_pass *p, size_t layer, enum pk_keep keep)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    const struct pk_parameter *norm2 = pk_layout_block(&p->t->layout, layer, PK_NORM2);
    const bool all = keep == PK_KEEP_ALL, fused = p->t->c.fused;
    project(p, layer, b);
    if (!all)
        PK_PASS_DROP(p, b->n1);
    attend(p, b);
    b->context = pk_pass_merge(p, &b->attention.o, 1, 0);
    if (!all)
        pk_block_drop_attention(p, b);
    void *a = pk_pass_product(p, pk_pass_weight(p, layer, PK_O, 1), b->context);
    if (!all || fused)
        PK_PASS_DROP(p, b->context);
    if (fused) {
        b->n2 = pk_pass_norm(p, norm2, b->s1, a, all ? &b->rstd2 : NULL);
        b->s2 = a;
    } else {
        b->s2 = pk_pass_map(p, PK_MAP_ADD, b->s1, a, elements(p));
        PK_PASS_DROP(p, a);
        b->n2 = pk_pass_norm(p, norm2, b->s2, NULL, all ? &b->rstd2 : NULL);
    }
    if (keep == PK_KEEP_NOTHING)
        PK_PASS_DROP(p, b->s1);
}

static void project_gates(struct pk_pass *p, size_t layer, struct pk_block_saved *b, bool all)
{
    const bool fused = p->t->c.fused;
    b->gate = pk_pass_product(p, pk_pass_weight(p, layer, PK_GATE, fused ? 2 : 1), b->n2);
    if (!fused)
        b->up = pk_pass_product(p, pk_pass_weight(p, layer, PK_UP, 1), b->n2);
    if (!all)
        PK_PASS_DROP(p, b->n2);
}

static void glu(struct pk_pass *p, struct pk_block_saved *b)
{
    const struct pk_transformer_config *c = &p->t->c;
    const size_t rows = pk_transformer_tokens(c);
    const struct pk_glu g = {.rows = rows,
                             .cols = c->ff,
                             .stride = 2 * c->ff,
                             .dtype = c->dtype,
                             .gate = b->gate,
                             .up = pk_pass_at(p, b->gate, c->ff),
                             .y = b->h = pk_pass_take(p, rows * c->ff)};
    if (!p->rc)
        p->rc = pk_op_glu(p->dev, &g, p->err);
}

/* silu(gate) * up, to h. */
static void activate(struct pk_pass *p, struct pk_block_saved *b, bool all)
{
    const size_t n = pk_transformer_tokens(&p->t->c) * p->t->c.ff;
    if (p->t->c.fused) {
        glu(p, b);
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
static void leave(struct pk_pass *p, size_t layer, struct pk_stream *s, bool all)
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
    s->x = pk_pass_map(p, PK_MAP_ADD, b->s2, down, elements(p));
    PK_PASS_DROP(p, down);
    if (!all)
        PK_PASS_DROP(p, b->s2);
}

void pk_block_forward(struct pk_pass *p, size_t layer, struct pk_stream *s, enum pk_keep keep)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    const bool all = keep == PK_KEEP_ALL;
    enter(p, layer, s, all);
    attention_half(p, layer, keep);
    project_gates(p, layer, b, all);
    activate(p, b, all);
    leave(p, layer, s, all);
}

void pk_block_again(struct pk_pass *p, size_t layer)
{
    struct pk_block_saved *b = &p->t->blocks[layer];
    struct pk_stream s = {.x = b->s1};
    enter(p, layer, &s, true);
    attention_half(p, layer, PK_KEEP_ALL);
    project_gates(p, layer, b, true);
    if (!p->t->c.fused)
        activate(p, b, true);
}

void pk_block_drop(struct pk_pass *p, struct pk_block_saved *b)
{
    pk_block_drop_attention(p, b);
    PK_PASS_DROP(p, b->s1);
    PK_PASS_DROP(p, b->n1);
    PK_PASS_DROP(p, b->rstd1);
    PK_PASS_DROP(p, b->context);
    PK_PASS_DROP(p, b->s2);
    PK_PASS_DROP(p, b->n2);
    PK_PASS_DROP(p, b->rstd2);
    PK_PASS_DROP(p, b->gate);
    PK_PASS_DROP(p, b->up);
    PK_PASS_DROP(p, b->act);
    PK_PASS_DROP(p, b->h);
}
