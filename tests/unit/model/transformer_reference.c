/* The reference: one token after the other, every sum in float64. */
#include "transformer_reference.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

/* y[out] = W x */
static void product(const double *w, size_t out, size_t in, const double *x, double *y)
{
    for (size_t o = 0; o < out; o++) {
        y[o] = 0;
        for (size_t i = 0; i < in; i++)
            y[o] += w[o * in + i] * x[i];
    }
}

static void norm(const double *w, size_t n, const double *x, double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    const double rstd = 1 / sqrt(sum / (double)n + (double)PK_NORM_EPS);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * rstd * w[i];
}

static void turn(double *x, size_t heads, size_t dim, size_t position)
{
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < dim / 2; i++) {
            const double angle = (double)position * pow(10000, -2.0 * (double)i / (double)dim);
            double *pair = x + h * dim + 2 * i;
            const double a = pair[0], b = pair[1];
            pair[0] = a * cos(angle) - b * sin(angle);
            pair[1] = a * sin(angle) + b * cos(angle);
        }
}

/* out[t, :] of one sequence; q, k and v are [seq, width], weights [seq] is scratch. */
static void attend(const struct pk_transformer_config *c, const double *q, const double *k, const double *v,
                   size_t t, double *weights, double *out)
{
    const size_t d = c->width, dim = d / c->heads;
    for (size_t h = 0; h < c->heads; h++) {
        double sum = 0;
        for (size_t s = 0; s <= t; s++) {
            double score = 0;
            for (size_t i = 0; i < dim; i++)
                score += q[t * d + h * dim + i] * k[s * d + h * dim + i];
            weights[s] = exp(score / sqrt((double)dim));
            sum += weights[s];
        }
        for (size_t i = 0; i < dim; i++) {
            out[h * dim + i] = 0;
            for (size_t s = 0; s <= t; s++)
                out[h * dim + i] += weights[s] / sum * v[s * d + h * dim + i];
        }
    }
}

static const double *of(const struct pk_layout *l, const double *p, size_t layer, enum pk_block_parameter w)
{
    return p + pk_layout_block(l, layer, w)->offset;
}

/* x [seq, width] in place. */
static void block(const struct pk_transformer_config *c, const struct pk_layout *l, const double *p,
                  size_t layer, double *x, struct pk_arena *a)
{
    const size_t d = c->width, f = c->ff;
    double *q = pk_new_n(a, double, c->seq *d), *k = pk_new_n(a, double, c->seq *d),
           *v = pk_new_n(a, double, c->seq *d);
    double *n = pk_new_n(a, double, d), *context = pk_new_n(a, double, d), *more = pk_new_n(a, double, d);
    double *gate = pk_new_n(a, double, f), *up = pk_new_n(a, double, f),
           *weights = pk_new_n(a, double, c->seq);
    for (size_t t = 0; t < c->seq; t++) {
        norm(of(l, p, layer, PK_NORM1), d, x + t * d, n);
        product(of(l, p, layer, PK_Q), d, d, n, q + t * d);
        product(of(l, p, layer, PK_K), d, d, n, k + t * d);
        product(of(l, p, layer, PK_V), d, d, n, v + t * d);
        turn(q + t * d, c->heads, d / c->heads, t);
        turn(k + t * d, c->heads, d / c->heads, t);
    }
    for (size_t t = 0; t < c->seq; t++) {
        double *y = x + t * d;
        attend(c, q, k, v, t, weights, context);
        product(of(l, p, layer, PK_O), d, d, context, more);
        for (size_t i = 0; i < d; i++)
            y[i] += more[i];
        norm(of(l, p, layer, PK_NORM2), d, y, n);
        product(of(l, p, layer, PK_GATE), f, d, n, gate);
        product(of(l, p, layer, PK_UP), f, d, n, up);
        for (size_t i = 0; i < f; i++)
            gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
        product(of(l, p, layer, PK_DOWN), d, f, gate, more);
        for (size_t i = 0; i < d; i++)
            y[i] += more[i];
    }
}

static double loss_of(const struct pk_transformer_config *c, const struct pk_layout *l, const double *p,
                      const double *x, int32_t target, struct pk_arena *a)
{
    double *n = pk_new_n(a, double, c->width), *logits = pk_new_n(a, double, c->vocab), sum = 0;
    norm(p + pk_layout_last_norm(l)->offset, c->width, x, n);
    product(p + pk_layout_head(l)->offset, c->vocab, c->width, n, logits);
    for (size_t i = 0; i < c->vocab; i++)
        sum += exp(logits[i]);
    return log(sum) - logits[target];
}

double reference_loss(const struct pk_transformer_config *c, const struct pk_layout *l, const double *p,
                      const int32_t *tokens, const int32_t *targets)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t d = c->width;
    double *x = pk_new_n(&a, double, c->seq *d), total = 0;
    for (size_t b = 0; b < c->batch; b++, tokens += c->seq, targets += c->seq) {
        for (size_t t = 0; t < c->seq; t++)
            memcpy(x + t * d, p + (size_t)tokens[t] * d, d * sizeof *x);
        for (size_t i = 0; i < c->layers; i++)
            block(c, l, p, i, x, &a);
        for (size_t t = 0; t < c->seq; t++)
            total += loss_of(c, l, p, x + t * d, targets[t], &a);
    }
    return total / (double)(c->batch * c->seq);
}
