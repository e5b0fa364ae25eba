/* Update: one step of AdamW over all parameters. */
#include "model/transformer/pass.h"

const struct pk_adamw_state pk_adamw_defaults = {
    .lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.01f, .beta1_t = 1, .beta2_t = 1};

static struct pk_adamw part(const struct pk_transformer *t, size_t offset, size_t n)
{
    return (struct pk_adamw){.n = n,
                             .state = t->adamw,
                             .p = t->p + offset,
                             .m = t->m + offset,
                             .v = t->v + offset,
                             .g = t->g + offset,
                             .g_type = PK_FP32,
                             .narrow = t->narrow ? t->narrow + offset : NULL};
}

/* Every parameter in one pass over memory. */
static void update_fused(struct pk_pass *p)
{
    struct pk_adamw a = part(p->t, 0, p->t->layout.elements);
    a.passes = PK_ADAMW_FUSED | (p->t->narrow ? PK_ADAMW_NARROW : 0);
    if (!p->rc)
        p->rc = pk_op_adamw(p->dev, &a, p->err);
}

/* A parameter as a framework's plain loop takes it: pass after pass. */
static void update_apart(struct pk_pass *p, const struct pk_parameter *one)
{
    const unsigned last = p->t->narrow ? PK_ADAMW_NARROW : PK_ADAMW_UPDATE;
    struct pk_adamw a = part(p->t, one->offset, one->rows * one->cols);
    a.scratch = pk_pass_take_fp32(p, a.n);
    for (a.passes = PK_ADAMW_DECAY; a.passes <= last; a.passes <<= 1)
        if (!p->rc)
            p->rc = pk_op_adamw(p->dev, &a, p->err);
    PK_PASS_DROP(p, a.scratch);
}

enum pk_code pk_transformer_update(struct pk_transformer *t, struct pk_err *err)
{
    struct pk_pass p = pk_pass_of(t, err);
    p.rc = pk_op_adamw_tick(t->dev, t->adamw, err);
    if (t->c.fused)
        update_fused(&p);
    for (size_t i = 0; !t->c.fused && i < t->layout.n; i++)
        update_apart(&p, &t->layout.v[i]);
    return p.rc;
}
