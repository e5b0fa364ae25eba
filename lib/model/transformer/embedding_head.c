/* Embedding and head: the parts before the first block and after the last: embedding, norm, head and loss. */
#include "model/transformer/transformer_private.h"

void pk_embedding_forward(struct pk_model_pass *p, struct pk_stream *s)
{
    const struct pk_transformer_config *c = &p->t->c;
    const struct pk_embed e = {.rows = pk_pass_tokens(p),
                               .cols = c->width,
                               .vocab = c->vocab,
                               .dtype = c->dtype,
                               .tokens = p->t->tokens,
                               .table = pk_pass_weights(p, pk_layout_embedding(&p->t->layout)->offset),
                               .out = pk_pass_take(p, pk_pass_tokens(p) * c->width)};
    PK_PASS_RUN(p, pk_op_embed(p->dev, &e, p->err));
    *s = (struct pk_stream){.x = e.out};
}

void pk_embedding_backward(struct pk_model_pass *p, void **d)
{
    const struct pk_transformer_config *c = &p->t->c;
    const struct pk_embed_backward e = {.rows = pk_pass_tokens(p),
                                        .cols = c->width,
                                        .vocab = c->vocab,
                                        .dtype = c->dtype,
                                        .tokens = p->t->tokens,
                                        .d_out = *d,
                                        .d_table = p->t->g + pk_layout_embedding(&p->t->layout)->offset,
                                        .add = p->t->add};
    PK_PASS_RUN(p, pk_op_embed_backward(p->dev, &e, p->err));
    pk_pass_ready(p, pk_layout_embedding(&p->t->layout), 1);
    PK_PASS_DROP(p, *d);
}

/* Of the gradient of a token's loss. */
static float scale_of(const struct pk_model_pass *p)
{
    return (p->t->weight != 0 ? p->t->weight : 1) / (float)pk_pass_tokens(p);
}

/* Losses, and with `keep` the gradient of the logits in their place. */
static void loss_fused(struct pk_model_pass *p, bool keep)
{
    struct pk_head_saved *e = &p->t->head;
    const struct pk_transformer_config *c = &p->t->c;
    const struct pk_cross_entropy x = {.rows = pk_pass_tokens(p),
                                       .cols = c->vocab,
                                       .stride = c->vocab,
                                       .dtype = c->dtype,
                                       .logits = e->logits,
                                       .targets = p->t->targets,
                                       .losses = p->t->losses,
                                       .scale = scale_of(p),
                                       .d_logits = keep ? e->logits : NULL};
    PK_PASS_RUN(p, pk_op_cross_entropy(p->dev, &x, p->err));
}

/* Losses from logarithms of probabilities, which are kept. */
static void loss_unfused(struct pk_model_pass *p)
{
    struct pk_head_saved *e = &p->t->head;
    const struct pk_transformer_config *c = &p->t->c;
    const size_t rows = pk_pass_tokens(p);
    e->logp = pk_pass_take_fp32(p, rows * c->vocab);
    const struct pk_log_softmax x = {
        .rows = rows, .cols = c->vocab, .dtype = c->dtype, .logits = e->logits, .logp = e->logp};
    PK_PASS_RUN(p, pk_op_log_softmax(p->dev, &x, p->err));
    PK_PASS_DROP(p, e->logits);
    const struct pk_nll n = {
        .rows = rows, .cols = c->vocab, .logp = e->logp, .targets = p->t->targets, .losses = p->t->losses};
    PK_PASS_RUN(p, pk_op_nll(p->dev, &n, p->err));
}

void pk_head_loss(struct pk_model_pass *p, struct pk_stream *s, bool keep)
{
    struct pk_head_saved *e = &p->t->head;
    const struct pk_layout *l = &p->t->layout;
    e->n = pk_pass_norm(p, pk_layout_last_norm(l), s->x, s->delta, keep ? &e->rstd : NULL);
    e->s = s->delta ? s->delta : s->x;
    if (s->delta && !s->x_saved)
        PK_PASS_DROP(p, s->x);
    if (!keep)
        PK_PASS_DROP(p, e->s);
    e->logits = pk_pass_product(p, pk_weight_of(pk_layout_head(l), 1), e->n);
    if (!keep)
        PK_PASS_DROP(p, e->n);
    if (p->t->loss_hook.begins && !p->rc)
        p->t->loss_hook.begins(p->t->loss_hook.user);
    if (p->t->c.fused)
        loss_fused(p, keep);
    else
        loss_unfused(p);
    PK_PASS_RUN(p, pk_op_mean(p->dev, p->t->losses, pk_pass_tokens(p), p->t->loss, p->err));
    if (!keep)
        pk_head_drop(p);
}

static void *logits_gradient_unfused(struct pk_model_pass *p)
{
    struct pk_head_saved *e = &p->t->head;
    const struct pk_transformer_config *c = &p->t->c;
    const struct pk_nll_backward x = {.rows = pk_pass_tokens(p),
                                      .cols = c->vocab,
                                      .dtype = c->dtype,
                                      .logp = e->logp,
                                      .targets = p->t->targets,
                                      .scale = scale_of(p),
                                      .d_logits = pk_pass_take(p, pk_pass_tokens(p) * c->vocab)};
    PK_PASS_RUN(p, pk_op_nll_backward(p->dev, &x, p->err));
    PK_PASS_DROP(p, e->logp);
    return x.d_logits;
}

void pk_head_loss_backward(struct pk_model_pass *p, void **d)
{
    struct pk_head_saved *e = &p->t->head;
    const struct pk_layout *l = &p->t->layout;
    const struct pk_weight head = pk_weight_of(pk_layout_head(l), 1);
    if (!p->t->c.fused)
        e->logits = logits_gradient_unfused(p);
    void *d_n = pk_pass_product_back(p, head, e->logits);
    pk_pass_weight_gradient(p, head, e->logits, e->n);
    PK_PASS_DROP(p, e->logits);
    PK_PASS_DROP(p, e->n);
    *d = NULL;
    pk_pass_norm_back(p, pk_layout_last_norm(l), e->s, e->rstd, &d_n, d, false);
    PK_PASS_DROP(p, e->s);
    PK_PASS_DROP(p, e->rstd);
}

void pk_head_drop(struct pk_model_pass *p)
{
    struct pk_head_saved *e = &p->t->head;
    PK_PASS_DROP(p, e->s);
    PK_PASS_DROP(p, e->n);
    PK_PASS_DROP(p, e->rstd);
    PK_PASS_DROP(p, e->logits);
    PK_PASS_DROP(p, e->logp);
}
