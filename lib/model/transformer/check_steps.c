/* Check of steps: those that were measured, replays of a captured graph perhaps, against the same ones made one by one. */
#include "model/transformer/check.h"

#include "model/transformer/pass.h"

#include <math.h>

static enum pk_code step(struct pk_transformer *t, struct pk_err *err)
{
    enum pk_code rc = pk_transformer_forward(t, true, err);
    if (!rc)
        rc = pk_transformer_backward(t, err);
    if (!rc)
        rc = pk_transformer_update(t, err);
    pk_transformer_forget(t);
    return rc;
}

/* Steps of the optimizer since the weights were filled, from its power of beta. */
static enum pk_code steps_made(struct pk_transformer *t, unsigned *n, struct pk_err *err)
{
    struct pk_adamw_state a;
    *n = 0;
    if (!t->adamw)
        return PK_OK;
    enum pk_code rc = pk_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, &a, t->adamw, sizeof a, err);
    if (!rc)
        *n = (unsigned)lround(log((double)a.beta1_t) / log((double)a.beta1));
    return rc;
}

/* The loss of step n, counted from 1, of a model that has its first contents. */
static enum pk_code loss_of_step(struct pk_transformer *t, unsigned n, float *loss, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (unsigned i = 1; !rc && i < n; i++)
        rc = step(t, err);
    if (!rc)
        rc = pk_transformer_forward(t, false, err);
    pk_transformer_forget(t);
    return rc ? rc : pk_transformer_loss(t, loss, err);
}

enum pk_code pk_transformer_check_steps(struct pk_transformer *t, const struct pk_origin *from,
                                        struct pk_err *err)
{
    float left, again;
    unsigned n;
    enum pk_code rc;
    if ((rc = pk_transformer_finite_loss(t, &left, err)) || (rc = steps_made(t, &n, err)) ||
        (rc = pk_transformer_fill(t, from, err)) || (rc = loss_of_step(t, n, &again, err)) ||
        (rc = pk_transformer_fill(t, from, err)))
        return rc;
    const double allowed = pk_transformer_tolerance(&t->c).loss * fmax(1, fabs((double)left));
    if (fabs((double)again - (double)left) <= allowed)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "the loss of step %u is wrong", n);
    pk_why(err, "it is %.6g as measured, %.6g when the steps are done again one by one", (double)left,
           (double)again);
    return pk_fix(err, "this is a bug of perfkit: please report it with `perfkit doctor`");
}
