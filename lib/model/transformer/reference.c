/* Reference: one layer after the other, every sum in float64. */
#include "model/transformer/reference.h"

#include <float.h>
#include <math.h>

/* A call: activations are [rows, ...], rows = sequences * prefix. */
struct evaluation {
    const struct pk_reference *r;
    struct pk_arena arena; /* of what lasts one layer */
    size_t rows;
    const struct pk_parameter *block; /* of the layer: PK_BLOCK_PARAMETERS */
    struct pk_range_error range_error;
    enum pk_code rc;
    struct pk_err *err;
};

/* Of NaN: yes. */
static void check_range(struct evaluation *e, const struct pk_parameter *at, double x)
{
    if (!(fabs(x) <= (double)FLT_MAX) && !e->range_error.at)
        e->range_error = (struct pk_range_error){at, x};
}

static double *doubles(struct evaluation *e, size_t n)
{
    return pk_new_n(&e->arena, double, n);
}

/* A parameter's weights, moved by the step if it is of this parameter; zeros once something failed. */
static const double *weights(struct evaluation *e, const struct pk_parameter *w)
{
    const size_t n = w->rows * w->cols;
    const struct pk_difference_step *step = &e->r->step;
    double *wide = doubles(e, n);
    float *raw = pk_new_n(&e->arena, float, n);
    if (!e->rc)
        e->rc = e->r->fetch(e->r->user, w, raw, e->err);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)raw[i] + (step->w == w ? step->by * pk_difference_sign(i) : 0);
    return wide;
}

/* Reached by sums in any order. */
static double dot(struct evaluation *e, const struct pk_parameter *at, const double *x, const double *y,
                  size_t n)
{
    double sum = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
        most += fabs(x[i] * y[i]);
    }
    check_range(e, at, most);
    return sum;
}

/* y[rows, out] = x[rows, in] W^T */
static double *product(struct evaluation *e, const struct pk_parameter *w, const double *x)
{
    const double *v = weights(e, w);
    double *y = doubles(e, e->rows * w->rows);
    for (size_t r = 0; r < e->rows; r++)
        for (size_t o = 0; o < w->rows; o++)
            y[r * w->rows + o] = dot(e, w, v + o * w->cols, x + r * w->cols, w->cols);
    return y;
}

static double *norm(struct evaluation *e, const struct pk_parameter *w, const double *x)
{
    const double *v = weights(e, w);
    const size_t n = w->cols;
    double *y = doubles(e, e->rows * n);
    for (size_t r = 0; r < e->rows; r++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += x[r * n + i] * x[r * n + i];
        check_range(e, w, sum);
        const double rstd = 1 / sqrt(sum / (double)n + (double)PK_NORM_EPS);
        for (size_t i = 0; i < n; i++)
            check_range(e, w, y[r * n + i] = x[r * n + i] * rstd * v[i]);
    }
    return y;
}

/* Heads of the model's width, next to each other in rows of `width`. */
static void rotate(const struct evaluation *e, double *x, size_t width)
{
    const size_t dim = e->r->c->width / e->r->c->heads;
    for (size_t r = 0; r < e->rows; r++)
        for (size_t f = 0; f < width; f += 2) {
            const double position = (double)(r % e->r->prefix), i = (double)(f % dim);
            const double angle = position * pow(10000, -i / (double)dim);
            double *pair = x + r * width + f;
            const double a = pair[0], b = pair[1];
            pair[0] = a * cos(angle) - b * sin(angle);
            pair[1] = a * sin(angle) + b * cos(angle);
        }
}

struct exponentials {
    double top, sum;
};

/* Each x becomes exp(x - top) of the largest, top, without which large ones have no exponential; sum is of those. */
static struct exponentials exponentiate(double *x, size_t n)
{
    struct exponentials e = {.top = -INFINITY};
    for (size_t i = 0; i < n; i++)
        e.top = fmax(e.top, x[i]);
    for (size_t i = 0; i < n; i++)
        e.sum += x[i] = exp(x[i] - e.top);
    return e;
}

/* Of head h: its features of row r of the result. */
static void attend_head(struct evaluation *e, const double *q, const double *k, const double *v, size_t r,
                        size_t h, double *p, double *out)
{
    const struct pk_transformer_config *c = e->r->c;
    const size_t d = c->width, kv = pk_transformer_kv_width(c), dim = d / c->heads;
    const size_t t = r % e->r->prefix, first = r - t, from = h * dim;
    const size_t shared = h / (c->heads / pk_transformer_kv_heads(c)) * dim;
    for (size_t s = 0; s <= t; s++) {
        const double *key = k + (first + s) * kv + shared;
        p[s] = dot(e, &e->block[PK_Q], q + r * d + from, key, dim) / sqrt((double)dim);
    }
    const double sum = exponentiate(p, t + 1).sum;
    for (size_t i = 0; i < dim; i++)
        for (size_t s = 0; s <= t; s++)
            out[r * d + from + i] += p[s] / sum * v[(first + s) * kv + shared + i];
}

static double *attend(struct evaluation *e, const double *q, const double *k, const double *v)
{
    const struct pk_transformer_config *c = e->r->c;
    double *out = doubles(e, e->rows * c->width), *p = doubles(e, e->r->prefix);
    for (size_t r = 0; r < e->rows; r++)
        for (size_t h = 0; h < c->heads; h++)
            attend_head(e, q, k, v, r, h, p, out);
    return out;
}

static void add(double *x, const double *more, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += more[i];
}

static void block(struct evaluation *e, size_t layer, double *x)
{
    const struct pk_transformer_config *c = e->r->c;
    const struct pk_parameter *w = pk_layout_block(e->r->l, layer, 0);
    const size_t n = e->rows * c->width;
    e->block = w;
    const double *normed = norm(e, &w[PK_NORM1], x);
    double *q = product(e, &w[PK_Q], normed), *k = product(e, &w[PK_K], normed);
    rotate(e, q, c->width);
    rotate(e, k, pk_transformer_kv_width(c));
    add(x, product(e, &w[PK_O], attend(e, q, k, product(e, &w[PK_V], normed))), n);
    normed = norm(e, &w[PK_NORM2], x);
    double *gate = product(e, &w[PK_GATE], normed), *up = product(e, &w[PK_UP], normed);
    for (size_t i = 0; i < e->rows * c->ff; i++)
        check_range(e, &w[PK_DOWN], gate[i] *= up[i] / (1 + exp(-gate[i])));
    add(x, product(e, &w[PK_DOWN], gate), n);
    pk_arena_free(&e->arena);
}

static size_t token_at(const struct pk_reference *r, size_t row)
{
    return row / r->prefix * r->c->seq + row % r->prefix;
}

/* x behind the first `layers` blocks. */
static void run_blocks(struct evaluation *e, size_t layers, double *x)
{
    const struct pk_reference *r = e->r;
    const size_t d = r->c->width;
    const double *table = weights(e, pk_layout_embedding(r->l));
    for (size_t row = 0; row < e->rows; row++)
        for (size_t i = 0; i < d; i++)
            x[row * d + i] = table[(size_t)r->tokens[token_at(r, row)] * d + i];
    pk_arena_free(&e->arena);
    for (size_t i = 0; i < layers; i++)
        block(e, i, x);
}

enum pk_code pk_reference_hidden(const struct pk_reference *r, size_t layers, double *hidden,
                                 struct pk_range_error *range_error, struct pk_err *err)
{
    struct evaluation e = {.r = r, .rows = r->sequences * r->prefix, .err = err};
    run_blocks(&e, layers, hidden);
    *range_error = e.range_error;
    return e.rc;
}

enum pk_code pk_reference_losses(const struct pk_reference *r, double *losses,
                                 struct pk_range_error *range_error, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena kept = {0};
    struct evaluation e = {.r = r, .rows = r->sequences * r->prefix, .err = err};
    double *x = pk_new_n(&kept, double, e.rows * r->c->width);
    const size_t vocab = r->c->vocab;
    run_blocks(&e, r->c->layers, x);
    double *logits = product(&e, pk_layout_head(r->l), norm(&e, pk_layout_last_norm(r->l), x));
    for (size_t row = 0; row < e.rows; row++) {
        double *logit = logits + row * vocab;
        const double wanted = logit[r->targets[token_at(r, row)]];
        const struct exponentials all = exponentiate(logit, vocab);
        losses[row] = all.top + log(all.sum) - wanted;
    }
    pk_arena_free(&e.arena);
    *range_error = e.range_error;
    return e.rc;
}

enum pk_code pk_reference_loss(const struct pk_reference *r, double *loss, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t n = r->sequences * r->prefix;
    double *losses = pk_new_n(&a, double, n), sum = 0;
    struct pk_range_error range_error;
    enum pk_code rc = pk_reference_losses(r, losses, &range_error, err);
    for (size_t i = 0; i < n; i++)
        sum += losses[i];
    *loss = sum / (double)n;
    return rc;
}
