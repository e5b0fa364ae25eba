/* Attention check: rows and columns of attention in fp64, compared with fp32 results. */
#include "ops/attention_check.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

static double dot(const float *a, const float *b, size_t n)
{
    double s = 0;
    for (size_t c = 0; c < n; c++)
        s += (double)a[c] * b[c];
    return s;
}

static double rms(const float *x, size_t n)
{
    return n ? sqrt(dot(x, x, n) / (double)n) : 0;
}

/* Of whole arrays, once for all rows and columns that are compared. */
struct sizes {
    double o, dq, dk, dv;
};

static struct sizes sizes_of(const struct pk_attention_host *h)
{
    const size_t n = h->seq * h->dim;
    return (struct sizes){rms(h->o, n), rms(h->dq, n), rms(h->dk, n), rms(h->dv, n)};
}

static size_t row_end(const struct pk_attention_host *h, size_t i)
{
    return h->causal ? i + 1 : h->seq;
}

/* Probabilities of row i into p[0..row_end); returns the row's log-sum-exp. */
static double row_probabilities(const struct pk_attention_host *h, size_t i, double *p)
{
    size_t end = row_end(h, i);
    double top = -INFINITY, sum = 0;
    for (size_t j = 0; j < end; j++) {
        p[j] = h->scale * dot(h->q + i * h->dim, h->k + j * h->dim, h->dim);
        top = p[j] > top ? p[j] : top;
    }
    for (size_t j = 0; j < end; j++)
        sum += p[j] = exp(p[j] - top);
    for (size_t j = 0; j < end; j++)
        p[j] /= sum;
    return top + log(sum);
}

/* o_i and dq_i from p, and ds of row i, the gradient of its scores. */
static void row_results(const struct pk_attention_host *h, size_t i, const double *p, double *ds, double *o,
                        double *dq)
{
    const float *d_o = h->d_o + i * h->dim;
    double delta = 0;
    memset(o, 0, h->dim * sizeof *o);
    memset(dq, 0, h->dim * sizeof *dq);
    for (size_t j = 0; j < row_end(h, i); j++)
        for (size_t c = 0; c < h->dim; c++)
            o[c] += p[j] * h->v[j * h->dim + c];
    for (size_t c = 0; c < h->dim; c++)
        delta += d_o[c] * o[c];
    for (size_t j = 0; j < row_end(h, i); j++) {
        ds[j] = h->scale * p[j] * (dot(d_o, h->v + j * h->dim, h->dim) - delta);
        for (size_t c = 0; c < h->dim; c++)
            dq[c] += ds[j] * h->k[j * h->dim + c];
    }
}

/* Adds row i's share to dk_j and dv_j. */
static void column_share(const struct pk_attention_host *h, size_t i, double p, double ds, double *dk,
                         double *dv)
{
    const float *d_o = h->d_o + i * h->dim, *q = h->q + i * h->dim;
    for (size_t c = 0; c < h->dim; c++) {
        dv[c] += p * d_o[c];
        dk[c] += ds * q[c];
    }
}

/* A class of numerics with its error of operands before any sum, relative to the size of the array. */
struct numerics {
    const char *name;
    double lost;
};

static struct numerics numerics_of(const struct pk_attention_host *h)
{
    static const struct numerics bf16 = {"bf16", 0x1p-4}, tf32 = {"tf32", 0x1p-7}, fp32 = {"fp32", 0};
    return h->dtype == PK_BF16 ? bf16 : h->math == PK_MATH_TF32 ? tf32 : fp32;
}

/* Of a sum of n results, relative to n times their size: lost digits wander, roundings of long fp32 sums may all lean one way. */
static double sum_tolerance(const struct pk_attention_host *h, size_t n)
{
    return 64 * 0x1p-23 + numerics_of(h).lost / sqrt((double)n);
}

static enum pk_code compare(const struct pk_attention_host *h, const char *name, size_t row, const float *got,
                            const double *want, double array_rms, struct pk_err *err)
{
    double sum = 0;
    for (size_t c = 0; c < h->dim; c++)
        sum += want[c] * want[c];
    const struct numerics class = numerics_of(h);
    const double row_rms = sqrt(sum / (double)h->dim);
    const double allowed = 64 * 0x1p-23 * sqrt((double)(h->seq + h->dim)) * fmax(row_rms, 0.1 * array_rms) +
                           class.lost * fmax(row_rms, array_rms) + 1e-30;
    for (size_t c = 0; c < h->dim; c++) {
        if (isfinite(got[c]) && fabs(got[c] - want[c]) <= allowed)
            continue;
        pk_fail(err, PK_E_CHECK, "%s[%zu][%zu] is %.9g, the fp64 reference says %.9g", name, row, c,
                (double)got[c], want[c]);
        pk_why(err, "the difference %.3g exceeds the %s tolerance %.3g (seq_len %zu, head dimension %zu)",
               fabs(got[c] - want[c]), class.name, allowed, h->seq, h->dim);
        return pk_fix(err,
                      "this variant computes wrong results here: please report it with `perfkit doctor`");
    }
    return PK_OK;
}

/* Leaves the probabilities of row i in p, and the gradients of its scores in ds; scratch: 2 * dim. */
static enum pk_code check_row(const struct pk_attention_host *h, const struct sizes *of, size_t i, double *p,
                              double *ds, double *scratch, struct pk_err *err)
{
    double *o = scratch, *dq = scratch + h->dim;
    row_probabilities(h, i, p);
    row_results(h, i, p, ds, o, dq);
    size_t at = i * h->dim;
    enum pk_code rc = compare(h, "o", i, h->o + at, o, of->o, err);
    return rc ? rc : compare(h, "dq", i, h->dq + at, dq, of->dq, err);
}

static enum pk_code compare_column(const struct pk_attention_host *h, const struct sizes *of, size_t j,
                                   const double *dk, const double *dv, struct pk_err *err)
{
    size_t at = j * h->dim;
    enum pk_code rc = compare(h, "dv", j, h->dv + at, dv, of->dv, err);
    return rc ? rc : compare(h, "dk", j, h->dk + at, dk, of->dk, err);
}

enum pk_code pk_attention_check_full(const struct pk_attention_host *h, struct pk_arena *a,
                                     struct pk_err *err)
{
    const struct sizes of = sizes_of(h);
    double *p = pk_new_n(a, double, h->seq), *ds = pk_new_n(a, double, h->seq),
           *scratch = pk_new_n(a, double, 2 * h->dim);
    double *dk = pk_new_n(a, double, h->seq * h->dim), *dv = pk_new_n(a, double, h->seq * h->dim);
    for (size_t i = 0; i < h->seq; i++) {
        enum pk_code rc = check_row(h, &of, i, p, ds, scratch, err);
        if (rc)
            return rc;
        for (size_t j = 0; j < row_end(h, i); j++)
            column_share(h, i, p[j], ds[j], dk + j * h->dim, dv + j * h->dim);
    }
    for (size_t j = 0; j < h->seq; j++) {
        enum pk_code rc = compare_column(h, &of, j, dk + j * h->dim, dv + j * h->dim, err);
        if (rc)
            return rc;
    }
    return PK_OK;
}

/* p_ij of every row as the variant saved it, or rebuilt from lse. */
static enum pk_code saved_column(const struct pk_attention_host *h, size_t j, float *p, struct pk_err *err)
{
    if (h->p_column)
        return h->p_column(h->p_user, j, p, err);
    for (size_t i = 0; i < h->seq; i++)
        p[i] = (float)exp(h->scale * dot(h->q + i * h->dim, h->k + j * h->dim, h->dim) - h->lse[i]);
    return PK_OK;
}

static enum pk_code check_column(const struct pk_attention_host *h, const struct sizes *of, size_t j,
                                 double *scratch, float *p, struct pk_err *err)
{
    double *dk = scratch, *dv = scratch + h->dim;
    enum pk_code rc = saved_column(h, j, p, err);
    if (rc)
        return rc;
    memset(scratch, 0, 2 * h->dim * sizeof *scratch);
    for (size_t i = h->causal ? j : 0; i < h->seq; i++) {
        const float *d_o = h->d_o + i * h->dim;
        const double delta = dot(d_o, h->o + i * h->dim, h->dim);
        const double ds = h->scale * (double)p[i] * (dot(d_o, h->v + j * h->dim, h->dim) - delta);
        column_share(h, i, p[i], ds, dk, dv);
    }
    return compare_column(h, of, j, dk, dv, err);
}

/* sum_j dv_j = sum_i do_i, per column c: rows of P sum to one. */
static enum pk_code check_dv_projection(const struct pk_attention_host *h, const struct sizes *of,
                                        double *want, struct pk_err *err)
{
    const double noise = sum_tolerance(h, h->seq) * (double)h->seq * (of->dv + rms(h->d_o, h->seq * h->dim));
    for (size_t c = 0; c < h->dim; c++) {
        double got = 0;
        want[c] = 0;
        for (size_t i = 0; i < h->seq; i++) {
            got += h->dv[i * h->dim + c];
            want[c] += h->d_o[i * h->dim + c];
        }
        if (fabs(got - want[c]) > noise) {
            pk_fail(err, PK_E_CHECK, "the sum of dv[*][%zu] is %.9g, that of d_o is %.9g", c, got, want[c]);
            return pk_why(
                err, "both must be equal, because every row of probabilities sums to one (tolerance %.3g)",
                noise);
        }
    }
    return PK_OK;
}

/* <q, dq> = <k, dk>: both are the sum of ds_ij s_ij. */
static enum pk_code check_dk_projection(const struct pk_attention_host *h, const struct sizes *of,
                                        struct pk_err *err)
{
    size_t n = h->seq * h->dim;
    double left = dot(h->q, h->dq, n), right = dot(h->k, h->dk, n);
    double size = (double)n * (rms(h->q, n) * of->dq + rms(h->k, n) * of->dk);
    double noise = sum_tolerance(h, n) * size;
    if (fabs(left - right) <= noise)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "<q, dq> is %.9g and <k, dk> is %.9g", left, right);
    return pk_why(err, "both must be equal for any input (tolerance %.3g)", noise);
}

enum pk_code pk_attention_check_sampled(const struct pk_attention_host *h, size_t samples, uint64_t seed,
                                        struct pk_arena *a, struct pk_err *err)
{
    struct pk_rng rng = {seed};
    const struct sizes of = sizes_of(h);
    double *p = pk_new_n(a, double, h->seq), *ds = pk_new_n(a, double, h->seq),
           *scratch = pk_new_n(a, double, 2 * h->dim);
    float *column = pk_new_n(a, float, h->seq);
    enum pk_code rc = check_dv_projection(h, &of, scratch, err);
    if (!rc)
        rc = check_dk_projection(h, &of, err);
    for (size_t s = 0; !rc && s < samples; s++) {
        /* the first and the last row see the edges of every tiling */
        size_t at = s == 0 ? 0 : s == 1 ? h->seq - 1 : (size_t)pk_rng_below(&rng, h->seq);
        rc = check_row(h, &of, at, p, ds, scratch, err);
        if (!rc)
            rc = check_column(h, &of, at, scratch, column, err);
    }
    return rc;
}
