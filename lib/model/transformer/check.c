/* Check: losses element by element, gradients by differences of the reference; steps that were measured against the same ones made one
 * by one; gradients added up by hash. */
#include "model/transformer/check.h"

#include "base/rng.h"
#include "model/transformer/reference.h"
#include "model/transformer/transformer_private.h"

#include <float.h>
#include <math.h>

enum { PREFIX = 2 };
static const double difference_step =
    1e-4; /* of weights that are a tenth to one: errors of differences are about its square */

/* Relative error allowed of a loss, and of a gradient along a direction in units of the gradient's own size. */
struct tolerance {
    double loss, gradient;
};

static struct tolerance tolerance_of(const struct pk_transformer_config *c)
{
    if (c->dtype == PK_BF16)
        return (struct tolerance){0.03, 0.2};
    if (c->math == PK_MATH_TF32)
        return (struct tolerance){2e-3, 0.03};
    return (struct tolerance){2e-5, 1e-3};
}

/* Weights as they are multiplied: of bf16 the rounded ones, except norms. */
enum pk_code pk_transformer_fetch(void *user, const struct pk_parameter *w, float *to, struct pk_err *err)
{
    struct pk_transformer *t = user;
    const size_t n = w->rows * w->cols;
    if (!t->narrow || w->rows == 1)
        return pk_device_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, to, t->p + w->offset, n * sizeof *to, err);
    enum pk_code rc = pk_device_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, to, t->narrow + w->offset,
                                         n * sizeof *t->narrow, err);
    pk_bf16_widen(to, n);
    return rc;
}

static bool near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance; /* of NaN: no */
}

static enum pk_code differs(struct pk_err *err, double got, double want, double tolerance)
{
    pk_why(err, "it is %.6g on the device, %.6g in float64; they may differ by %.2g", got, want, tolerance);
    return pk_fix(err,
                  "this is a bug of perfkit or of a library it uses: please report it with `perfkit doctor`");
}

static enum pk_code check_losses(struct pk_transformer *t, const struct pk_reference *r, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_transformer_config *c = &t->c;
    const size_t rows = r->sequences * r->prefix, first = (c->batch - r->sequences) * c->seq;
    double *want = pk_new_n(&a, double, rows);
    struct pk_range_error range_error;
    float *got = pk_new_n(&a, float, pk_transformer_tokens(c));
    enum pk_code rc = pk_device_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, got, t->losses,
                                         pk_transformer_tokens(c) * sizeof *got, err);
    if (rc || (rc = pk_reference_losses(r, want, &range_error, err)))
        return rc;
    for (size_t i = 0; i < rows; i++) {
        const size_t at = first + i / r->prefix * c->seq + i % r->prefix;
        const double allowed = tolerance_of(c).loss * fmax(1, fabs(want[i]));
        if (near((double)got[at], want[i], allowed))
            continue;
        pk_fail(err, PK_E_CHECK, "the loss of token %zu of sequence %zu %s", at % c->seq, at / c->seq,
                range_error.at ? "cannot be checked" : "is wrong");
        if (!range_error.at)
            return differs(err, (double)got[at], want[i], allowed);
        /* No verdict on the device: infinities may end in any loss, finite ones among them. */
        pk_why(err,
               "its weights leave the range of fp32, tf32 and bf16: at %s float64 has %.4g, and their range "
               "ends at %.4g",
               range_error.at->name, range_error.value, (double)FLT_MAX);
        return pk_fix(err, "use smaller weights; none of these dtypes has a wider range");
    }
    return PK_OK;
}

/* Of one parameter, along the direction of pk_difference_sign. */
static enum pk_code check_gradient(struct pk_transformer *t, struct pk_reference r,
                                   const struct pk_parameter *w, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t n = w->rows * w->cols;
    float *g = pk_new_n(&a, float, n);
    double up = 0, down = 0, got = 0, squares = 0;
    enum pk_code rc =
        pk_device_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, g, t->g + w->offset, n * sizeof *g, err);
    r.step = (struct pk_difference_step){w, difference_step};
    if (!rc)
        rc = pk_reference_loss(&r, &up, err);
    r.step.by = -difference_step;
    if (!rc)
        rc = pk_reference_loss(&r, &down, err);
    for (size_t i = 0; i < n; i++) {
        got += (double)g[i] * pk_difference_sign(i);
        squares += (double)g[i] * (double)g[i];
    }
    const double want = (up - down) / (2 * difference_step);
    const double allowed = tolerance_of(&t->c).gradient * fmax(sqrt(squares), 1e-3);
    if (rc || near(got, want, allowed))
        return rc;
    pk_fail(err, PK_E_CHECK, "the gradient of %s is wrong", w->name);
    return differs(err, got, want, allowed);
}

enum pk_code pk_transformer_check(struct pk_transformer *t, const int32_t *tokens, const int32_t *targets,
                                  bool full, struct pk_err *err)
{
    const struct pk_transformer_config *c = &t->c;
    const size_t skip = full ? 0 : (c->batch - 1) * c->seq;
    const struct pk_reference r = {.c = c,
                                   .l = &t->layout,
                                   .fetch = pk_transformer_fetch,
                                   .user = t,
                                   .tokens = tokens + skip,
                                   .targets = targets + skip,
                                   .sequences = full ? c->batch : 1,
                                   .prefix = full || c->seq < PREFIX ? c->seq : PREFIX};
    enum pk_code rc = pk_transformer_forward(t, t->g != NULL, err);
    if (!rc && t->g)
        rc = pk_transformer_backward(t, err);
    pk_transformer_forget(t);
    if (!rc)
        rc = check_losses(t, &r, err);
    for (size_t i = 0; !rc && full && t->g && i < t->layout.n; i++)
        rc = check_gradient(t, r, &t->layout.v[i], err);
    return rc;
}

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
    enum pk_code rc = pk_device_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, &a, t->adamw, sizeof a, err);
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
    const double allowed = tolerance_of(&t->c).loss * fmax(1, fabs((double)left));
    if (fabs((double)again - (double)left) <= allowed)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "the loss of step %u is wrong", n);
    pk_why(err, "it is %.6g as measured, %.6g when the steps are repeated one by one", (double)left,
           (double)again);
    return pk_fix(err, "this is a bug of perfkit: please report it with `perfkit doctor`");
}

enum pk_code pk_transformer_sketch(struct pk_transformer *t, struct pk_sketch *out, struct pk_err *err)
{
    *out = (struct pk_sketch){0};
    for (size_t i = 0; i < t->layout.n; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_parameter *w = &t->layout.v[i];
        const size_t n = w->rows * w->cols;
        float *host = pk_new_n(&a, float, n);
        enum pk_code rc =
            pk_device_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, host, t->g + w->offset, n * sizeof *host, err);
        if (rc)
            return rc;
        for (size_t k = 0; k < n; k++) {
            const uint64_t h = pk_rng_mix(w->offset + k + 1);
            const double v = (double)host[k];
            out->v[h % PK_SKETCH] += h >> 63 ? v : -v;
            out->norm += v * v;
        }
        if (!isfinite(out->norm)) {
            pk_fail(err, PK_E_CHECK, "the gradient of %s has elements that are not finite", w->name);
            pk_why(
                err,
                "weights or activations left the range of their type; a step with it destroys the weights");
            return pk_fix(
                err, "choose another dtype, or other sizes or weights; or a mode without a backward pass");
        }
    }
    out->norm = sqrt(out->norm);
    return PK_OK;
}
