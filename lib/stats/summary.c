/* Summary: order statistics and moments of one set of values. */
#include "stats/stats.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void insert_each(double *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const double x = v[i];
        size_t to = i;
        for (; to > 0 && v[to - 1] > x; to--)
            v[to] = v[to - 1];
        v[to] = x;
    }
}

static double middle_of(double a, double b, double c)
{
    const double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Quicksort, to which qsort's calls of a comparison are no match; qsort where it cuts badly. */
void pk_sort(double *v, size_t n)
{
    enum { FEW = 24, CUTS = 64 };
    for (int cuts = 0; n > FEW; cuts++) {
        if (cuts == CUTS) {
            qsort(v, n, sizeof *v, ascending);
            return;
        }
        const double middle = middle_of(v[0], v[n / 2], v[n - 1]);
        size_t i = 0, j = n - 1;
        for (;; i++, j--) {
            while (v[i] < middle)
                i++;
            while (v[j] > middle)
                j--;
            if (i >= j)
                break;
            const double x = v[i];
            v[i] = v[j];
            v[j] = x;
        }
        pk_sort(v, i);
        v += i;
        n -= i;
    }
    insert_each(v, n);
}

double pk_quantile(const double *sorted, size_t n, double p)
{
    pk_assert(n > 0 && p >= 0 && p <= 1);
    double at = (double)(n - 1) * p;
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

double pk_median_of(double *v, size_t n)
{
    pk_sort(v, n);
    return pk_quantile(v, n, 0.5);
}

double pk_median_copy(const double *v, size_t n, double *scratch)
{
    memcpy(scratch, v, n * sizeof *v);
    return pk_median_of(scratch, n);
}

size_t pk_sort_indexed(const double *v, size_t n, struct pk_indexed_value *sorted)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            sorted[m++] = (struct pk_indexed_value){v[i], i};
    qsort(sorted, m, sizeof *sorted, ascending); /* by v, its first member */
    return m;
}

bool pk_all_positive(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(v[i] > 0))
            return false;
    return true;
}

bool pk_log_or_copy(double *dst, const double *src, size_t n)
{
    const bool positive = pk_all_positive(src, n);
    for (size_t i = 0; i < n; i++)
        dst[i] = positive ? log(src[i]) : src[i];
    return positive;
}

double pk_mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] - v[0];
    return v[0] + sum / (double)n;
}

struct pk_moments pk_moments(const double *v, size_t n)
{
    if (!n)
        return (struct pk_moments){NAN, NAN};
    double mean = pk_mean(v, n), squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    return (struct pk_moments){mean, n > 1 ? squares / (double)(n - 1) : NAN};
}

double pk_welch_df(double va, size_t na, double vb, size_t nb)
{
    double v = va + vb;
    if (v > 0) { /* shares, because squares of small variances underflow */
        double a = va / v, b = vb / v;
        return 1 / (a * a / (double)(na - 1) + b * b / (double)(nb - 1));
    }
    return v == 0 ? (double)(na + nb - 2) : NAN;
}

struct pk_summary pk_summarize(double *v, size_t n)
{
    pk_assert(n > 0);
    struct pk_moments m = pk_moments(v, n);
    double sd = sqrt(m.variance);
    pk_sort(v, n);
    return (struct pk_summary){
        .n = n,
        .median = pk_quantile(v, n, 0.5),
        .mean = m.mean,
        .sd = sd,
        .min = v[0],
        .max = v[n - 1],
        .cv = m.mean != 0 ? sd / fabs(m.mean) : NAN,
    };
}

double pk_mad(const double *v, size_t n, double *scratch)
{
    const double median = pk_median_copy(v, n, scratch);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(v[i] - median);
    return 1.482602218505602 * pk_median_of(scratch, n); /* 1 / the normal's third quartile */
}

double pk_autocorrelation(const double *v, size_t n)
{
    if (n < 3)
        return 0;
    struct pk_moments m = pk_moments(v, n);
    double covariance = 0;
    for (size_t i = 0; i + 1 < n; i++)
        covariance += (v[i] - m.mean) * (v[i + 1] - m.mean);
    return m.variance > 0 ? covariance / (m.variance * (double)(n - 1)) : 0;
}

const struct pk_tail_kind pk_tail_kinds[PK_TAILS] = {
    [PK_P90] = {"p90", 0.9, 10}, [PK_P99] = {"p99", 0.99, 100}};

double pk_tail_quantile(const double *sorted, size_t n, enum pk_tail t)
{
    const struct pk_tail_kind *k = &pk_tail_kinds[t];
    if (n < k->samples)
        return NAN;
    const double at = ((double)n + 1.0 / 3) * k->p + 1.0 / 3; /* a rank from 1 */
    const size_t below = (size_t)at;
    const double share = at - (double)below, low = sorted[below - 1];
    return share > 0 ? low + share * (sorted[below] - low) : low;
}

bool pk_tail_of_metric(const char *metric, enum pk_tail *t, size_t *length)
{
    const char *colon = strrchr(metric, ':');
    for (size_t i = 0; colon && i < PK_TAILS; i++)
        if (strcmp(colon + 1, pk_tail_kinds[i].name) == 0) {
            *t = (enum pk_tail)i;
            *length = (size_t)(colon - metric);
            return *length > 0;
        }
    return false;
}
