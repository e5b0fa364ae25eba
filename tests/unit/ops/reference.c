/* Reference: loops as they stand in a textbook. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double pk_reference_error(const float *got, const double *want, size_t n)
{
    double worst = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += want[i] * want[i];
    const double rms = sqrt(squares / (double)n) + 1e-30;
    for (size_t i = 0; i < n; i++) {
        const double e = fabs(got[i] - want[i]) / (fabs(want[i]) + rms);
        if (!(e <= worst))
            worst = isnan(e) ? INFINITY : e;
    }
    return worst;
}

static double element(const float *x, enum pk_trans t, size_t rows, size_t cols, size_t i, size_t j)
{
    return t == PK_T ? x[j * rows + i] : x[i * cols + j];
}

/* [rows, cols], whichever way it is stored. */
static double *plain_matrix(const float *x, enum pk_trans t, size_t rows, size_t cols)
{
    double *plain = malloc(rows * cols * sizeof *plain);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            plain[i * cols + j] = element(x, t, rows, cols, i, j);
    return plain;
}

static void gemm_problem(const struct pk_gemm *g, size_t b, double *c)
{
    const float *x = g->a, *y = g->b, *old = g->c;
    x += b * g->m * g->k, y += b * g->k * g->n, old += b * g->m * g->n;
    double *a = plain_matrix(x, g->ta, g->m, g->k), *of = plain_matrix(y, g->tb, g->k, g->n);
    for (size_t i = 0; i < g->m; i++) {
        double *restrict row = c + i * g->n;
        for (size_t j = 0; j < g->n; j++)
            row[j] = g->beta != 0 ? (double)g->beta * old[i * g->n + j] : 0;
        for (size_t k = 0; k < g->k; k++)
            for (size_t j = 0; j < g->n; j++)
                row[j] += g->alpha * a[i * g->k + k] * of[k * g->n + j];
    }
    free(of);
    free(a);
}

void pk_reference_gemm(const struct pk_gemm *g, double *c)
{
    for (size_t b = 0; b < g->batch; b++)
        gemm_problem(g, b, c + b * g->m * g->n);
}

/* Returns the log of the sum of exponentials. */
static double softmax_row(const double *s, double *p, size_t n)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        top = s[i] > top ? s[i] : top;
    for (size_t i = 0; i < n; i++)
        sum += p[i] = exp(s[i] - top);
    for (size_t i = 0; i < n; i++)
        p[i] /= sum;
    return top + log(sum);
}

void pk_reference_softmax(const double *s, double *p, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        softmax_row(s + i * cols, p + i * cols, cols);
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* y += a x */
static void add(double *restrict y, double a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* Keys that a query sees; the probabilities of others are 0. */
static size_t seen(const struct pk_attention *at, size_t row)
{
    return at->causal ? row % at->seq + 1 : at->seq;
}

static void probabilities(const struct pk_attention *at, const struct pk_reference_attention *r, size_t row)
{
    const size_t seq = at->seq, dim = at->dim, i = row % seq;
    const float *q = at->q, *k = at->k;
    q += row * dim, k += (row - i) * dim;
    double *p = r->p + row * seq;
    for (size_t j = 0; j < seq; j++)
        p[j] = j >= seen(at, row) ? -INFINITY : (double)at->scale * dot(q, k + j * dim, dim);
    double lse = softmax_row(p, p, seq);
    if (r->lse)
        r->lse[row] = lse;
}

static void output_row(const struct pk_attention *at, const struct pk_reference_attention *r, size_t row)
{
    const size_t seq = at->seq, dim = at->dim;
    const float *v = at->v;
    v += (row - row % seq) * dim;
    double *o = r->o + row * dim;
    memset(o, 0, dim * sizeof *o);
    for (size_t j = 0; j < seen(at, row); j++)
        add(o, r->p[row * seq + j], v + j * dim, dim);
}

/* What one query adds: dv_j += p_j d_o;  ds_j = p_j (d_o . v_j - sum_j p_j d_o . v_j);  dk_j += scale ds_j q. dp: room for seq numbers.
 */
static void gradients_of_row(const struct pk_attention *at, const struct pk_reference_attention *r,
                             size_t row, double *dp)
{
    const size_t seq = at->seq, dim = at->dim, keys = (row - row % seq) * dim;
    const float *q = at->q, *k = at->k, *v = at->v, *d_o = at->d_o;
    q += row * dim, d_o += row * dim;
    const double *p = r->p + row * seq;
    double delta = 0;
    for (size_t j = 0; j < seen(at, row); j++)
        delta += p[j] * (dp[j] = dot(d_o, v + keys + j * dim, dim));
    for (size_t j = 0; j < seen(at, row); j++) {
        const size_t key = keys + j * dim;
        const double ds = p[j] * (dp[j] - delta) * (double)at->scale;
        add(r->dv + key, p[j], d_o, dim);
        add(r->dk + key, ds, q, dim);
        add(r->dq + row * dim, ds, k + key, dim);
    }
}

void pk_reference_attention(const struct pk_attention *at, const struct pk_reference_attention *r)
{
    const size_t rows = at->batch * at->seq, bytes = rows * at->dim * sizeof(double);
    double *dp = malloc(at->seq * sizeof *dp);
    if (r->dq) {
        memset(r->dq, 0, bytes);
        memset(r->dk, 0, bytes);
        memset(r->dv, 0, bytes);
    }
    for (size_t row = 0; row < rows; row++) {
        probabilities(at, r, row);
        if (r->o)
            output_row(at, r, row);
        if (r->dq)
            gradients_of_row(at, r, row, dp);
    }
    free(dp);
}
