/* Reference of layers: their formulas as ops/shapes.h has them. */
#include "reference.h"

#include <math.h>
#include <string.h>

void pk_reference_embed_backward(const struct pk_embed_backward *e, double *d_table)
{
    const float *d_out = e->d_out;
    memset(d_table, 0, e->vocab * e->cols * sizeof *d_table);
    for (size_t r = 0; r < e->rows; r++)
        for (size_t i = 0; i < e->cols; i++)
            d_table[(size_t)e->tokens[r] * e->cols + i] += d_out[r * e->cols + i];
}

static double rstd_of(const double *s, size_t n, double eps)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += s[i] * s[i];
    return 1 / sqrt(squares / (double)n + eps);
}

void pk_reference_norm(const struct pk_norm *n, double *sum, double *y, double *rstd)
{
    const float *x = n->x, *delta = n->delta;
    for (size_t r = 0; r < n->rows; r++) {
        const size_t at = r * n->cols;
        for (size_t i = at; i < at + n->cols; i++)
            sum[i] = (double)x[i] + (delta ? delta[i] : 0);
        rstd[r] = rstd_of(sum + at, n->cols, n->eps);
        for (size_t i = 0; i < n->cols; i++)
            y[at + i] = sum[at + i] * rstd[r] * n->w[i];
    }
}

static void norm_backward_row(const struct pk_norm_backward *n, float eps, size_t at, double *d_x,
                              double *d_w)
{
    const float *s = n->s, *d_y = n->d_y, *d_s = n->d_s;
    double squares = 0, mean = 0;
    for (size_t i = 0; i < n->cols; i++)
        squares += (double)s[at + i] * s[at + i];
    const double rstd = 1 / sqrt(squares / (double)n->cols + eps);
    for (size_t i = 0; i < n->cols; i++)
        mean += (double)d_y[at + i] * n->w[i] * s[at + i] * rstd / (double)n->cols;
    for (size_t i = 0; i < n->cols; i++) {
        const double normed = s[at + i] * rstd;
        d_x[at + i] = rstd * ((double)d_y[at + i] * n->w[i] - normed * mean) + (d_s ? d_s[at + i] : 0);
        d_w[i] += d_y[at + i] * normed;
    }
}

void pk_reference_norm_backward(const struct pk_norm_backward *n, float eps, double *d_x, double *d_w)
{
    memset(d_w, 0, n->cols * sizeof *d_w);
    for (size_t r = 0; r < n->rows; r++)
        norm_backward_row(n, eps, r * n->cols, d_x, d_w);
}

/* Element i of what lies at x, rotated by the angle of position t, or back. */
static double rotated(const struct pk_heads *h, unsigned part, size_t t, const float *x, size_t i, int back)
{
    if (!(h->rotated >> part & 1))
        return x[i];
    const double c = h->rope_table[t * h->dim + i / 2 * 2], s = h->rope_table[t * h->dim + i / 2 * 2 + 1];
    return c * x[i] + (i % 2 ? 1 : -1) * (back ? -1 : 1) * s * x[i ^ 1];
}

/* Where dim elements of one token lie in rows and in their head. */
static size_t in_rows(const struct pk_heads *h, size_t b, size_t t, unsigned part, size_t head)
{
    return (b * h->seq + t) * pk_heads_stride(h) + (part * h->heads + head) * h->dim;
}

static size_t in_head(const struct pk_heads *h, size_t b, size_t t, size_t head)
{
    return ((b * h->heads * pk_heads_repeat(h) + head) * h->seq + t) * h->dim;
}

static void token_heads(const struct pk_heads *h, size_t b, size_t t, double *rows, double *const *head)
{
    for (unsigned p = 0; p < h->parts; p++)
        for (size_t n = 0; n < h->heads * pk_heads_repeat(h); n++)
            for (size_t i = 0; i < h->dim; i++) {
                const size_t r = in_rows(h, b, t, p, n / pk_heads_repeat(h)), o = in_head(h, b, t, n);
                if (rows)
                    rows[r + i] += rotated(h, p, t, (const float *)h->head[p] + o, i, 1);
                else
                    head[p][o + i] = rotated(h, p, t, (const float *)h->rows + r, i, 0);
            }
}

void pk_reference_split_heads(const struct pk_heads *h, double *const head[3])
{
    for (size_t i = 0; i < h->batch * h->seq; i++)
        token_heads(h, i / h->seq, i % h->seq, NULL, head);
}

void pk_reference_merge_heads(const struct pk_heads *h, double *rows)
{
    memset(rows, 0, h->batch * h->seq * pk_heads_stride(h) * sizeof *rows);
    for (size_t i = 0; i < h->batch * h->seq; i++)
        token_heads(h, i / h->seq, i % h->seq, rows, NULL);
}

double pk_reference_map(enum pk_map map, double a, double b)
{
    const double sigmoid = 1 / (1 + exp(-a));
    return map == PK_MAP_ADD    ? a + b
           : map == PK_MAP_MUL  ? a * b
           : map == PK_MAP_SILU ? a * sigmoid
                                : b * (sigmoid + a * sigmoid * (1 - sigmoid));
}

void pk_reference_cross_entropy(const struct pk_cross_entropy *x, double *loss, double *logp,
                                double *d_logits)
{
    for (size_t r = 0; r < x->rows; r++) {
        const float *logits = (const float *)x->logits + r * x->stride;
        double top = -INFINITY, sum = 0;
        for (size_t i = 0; i < x->cols; i++)
            top = fmax(top, logits[i]);
        for (size_t i = 0; i < x->cols; i++)
            sum += exp(logits[i] - top);
        loss[r] = top + log(sum) - logits[x->targets[r]];
        for (size_t i = 0; i < x->cols; i++) {
            const double l = logits[i] - top - log(sum);
            logp[r * x->cols + i] = l;
            d_logits[r * x->cols + i] = (exp(l) - ((size_t)x->targets[r] == i)) * x->scale;
        }
    }
}

void pk_reference_adamw(const struct pk_adamw_state *s, double g, struct pk_reference_adamw *x)
{
    x->p *= 1 - (double)s->lr * s->decay;
    x->m += (1 - (double)s->beta1) * (g - x->m);
    x->v += (1 - (double)s->beta2) * (g * g - x->v);
    x->p -= s->lr / (1 - (double)s->beta1_t) * x->m / (sqrt(x->v / (1 - (double)s->beta2_t)) + s->eps);
}
