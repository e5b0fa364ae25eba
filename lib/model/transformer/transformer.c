/* Transformer: the order in which the parts of a pass follow each other. */
#include "model/transformer/transformer.h"

#include "base/err.h"
#include "model/transformer/pass.h"

#include <math.h>

static void drop_stream(struct pk_pass *p, struct pk_stream *s)
{
    if (!s->x_saved)
        PK_PASS_DROP(p, s->x);
    PK_PASS_DROP(p, s->delta);
}

enum pk_code pk_transformer_forward(struct pk_transformer *t, bool keep, struct pk_err *err)
{
    struct pk_pass p = pk_pass_of(t, err);
    struct pk_stream s;
    t->kept = !keep ? PK_KEEP_NOTHING : t->c.recompute ? PK_KEEP_INPUT : PK_KEEP_ALL;
    pk_ends_begin(&p, &s);
    for (size_t i = 0; !p.rc && i < t->c.layers; i++)
        pk_block_forward(&p, i, &s, t->kept);
    if (p.rc)
        drop_stream(&p, &s);
    else
        pk_ends_loss(&p, &s, keep);
    return p.rc;
}

enum pk_code pk_transformer_backward(struct pk_transformer *t, struct pk_err *err)
{
    pk_assert(t->g && t->kept != PK_KEEP_NOTHING);
    struct pk_pass p = pk_pass_of(t, err);
    void *d;
    pk_ends_loss_backward(&p, &d);
    for (size_t i = t->c.layers; !p.rc && i-- > 0;)
        pk_block_backward(&p, i, &d);
    pk_ends_embedding_backward(&p, &d);
    return p.rc;
}

void pk_transformer_forget(struct pk_transformer *t)
{
    struct pk_pass p = {.t = t, .dev = t->dev};
    for (size_t i = 0; t->blocks && i < t->c.layers; i++)
        pk_block_drop(&p, &t->blocks[i]);
    pk_ends_drop(&p);
}

enum pk_code pk_transformer_loss(struct pk_transformer *t, float *loss, struct pk_err *err)
{
    return pk_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, loss, t->loss, sizeof *loss, err);
}

enum pk_code pk_transformer_finite_loss(struct pk_transformer *t, float *loss, struct pk_err *err)
{
    enum pk_code rc = pk_transformer_loss(t, loss, err);
    if (rc || isfinite(*loss))
        return rc;
    pk_fail(err, PK_E_CHECK, "the loss is %g", isnan(*loss) ? (double)NAN : (double)*loss); /* of no sign */
    pk_why(err, "weights or activations left the range of their type; times of such a step mean nothing");
    return pk_fix(err, "choose another dtype, or other sizes or weights");
}
