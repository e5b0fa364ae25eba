/* Summarize: from samples to the figures of an invocation, and from those to a case's. */
#include "bench/record/record.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One value of one rank; instances are summed into it. */
struct point {
    int64_t ordinal;
    int rank;
    double value;
};

static int by_ordinal_and_rank(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool counts(const struct pk_series *e, size_t metric)
{
    return e->metric == metric && e->phase == PK_PHASE_STEADY;
}

static size_t collect(const struct pk_slice *s, size_t metric, struct point *out)
{
    size_t n = 0;
    for (size_t k = 0; k < s->n_series; k++) {
        const struct pk_series *e = &s->series[k];
        for (size_t i = 0; counts(e, metric) && i < e->n; i++) {
            double v = e->integer ? (double)e->integer[i] : e->real[i];
            if (isfinite(v))
                out[n++] = (struct point){e->ordinal[i], e->rank, v / (double)e->reps};
        }
    }
    return n;
}

static double combine(const char *how, const struct pk_summary *s)
{
    const struct {
        const char *name;
        double value;
    } words[] = {{"median", s->median},
                 {"min", s->min},
                 {"max", s->max},
                 {"mean", s->mean},
                 {"sum", s->mean * (double)s->n}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(how, words[i].name) == 0)
            return words[i].value;
    pk_assert(!"how a metric combines is one of the protocol's words");
    return NAN;
}

/* One value per ordinal: the ranks' values combined. */
static size_t combine_ranks(const struct point *p, size_t n, const char *how, double *scratch, double *out)
{
    size_t m = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && p[end].ordinal == p[i].ordinal; end++)
            scratch[end - i] = p[end].value;
        const struct pk_summary ranks = end - i > 1 ? pk_summarize(scratch, end - i) : (struct pk_summary){0};
        out[m++] = end - i > 1 ? combine(how, &ranks) : p[i].value;
    }
    return m;
}

size_t pk_summarize_slice(const struct pk_slice *s, struct pk_summary_row *rows)
{
    if (s->status != PK_ST_OK || s->pass != PK_PASS_TIMING)
        return 0;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    size_t cap = 0, n_rows = 0;
    for (size_t m = 0; m < s->n_metrics; m++) {
        size_t of_metric = 0;
        for (size_t k = 0; k < s->n_series; k++)
            of_metric += counts(&s->series[k], m) ? s->series[k].n : 0;
        cap = of_metric > cap ? of_metric : cap;
    }
    struct point *points = pk_new_n(&a, struct point, cap + 1);
    double *values = pk_new_n(&a, double, cap + 1), *scratch = pk_new_n(&a, double, cap + 1);
    for (size_t m = 0; m < s->n_metrics; m++) {
        size_t n = collect(s, m, points);
        if (!n)
            continue;
        /* Nearly always they come in order: one rank, one instance. */
        size_t i = 1;
        while (i < n && by_ordinal_and_rank(&points[i - 1], &points[i]) <= 0)
            i++;
        if (i < n)
            qsort(points, n, sizeof *points, by_ordinal_and_rank);
        /* Instances of one ordinal and rank are summed. */
        size_t merged = 0;
        for (size_t k = 0; k < n; k++)
            if (merged && by_ordinal_and_rank(&points[merged - 1], &points[k]) == 0)
                points[merged - 1].value += points[k].value;
            else
                points[merged++] = points[k];
        n = combine_ranks(points, merged, s->metrics[m].ranks, scratch, values);
        const struct pk_summary sum = pk_summarize(values, n);
        struct pk_summary_row *row = &rows[n_rows++];
        *row = (struct pk_summary_row){.metric = s->metrics[m].name,
                                       .sum = sum,
                                       .figure = combine(s->metrics[m].combine, &sum),
                                       .ci = {NAN, NAN},
                                       .ci_level = NAN,
                                       .invocations = 1};
        for (int t = 0; t < PK_TAILS; t++) /* values are in order now */
            row->tail[t] = pk_tail_quantile(values, n, (enum pk_tail)t);
    }
    return n_rows;
}

struct pk_summary_row pk_summarize_case(const struct pk_summary_row *invocations, size_t n, double *scratch)
{
    struct pk_summary_row r = {
        .metric = invocations[0].metric, .invocations = n, .sum = {.min = INFINITY, .max = -INFINITY}};
    for (size_t i = 0; i < n; i++)
        scratch[i] = invocations[i].figure;
    r.ci = pk_invocations_interval(scratch, n, 0.95);
    r.ci_level = pk_invocations_level(n, 0.95);
    /* Mean and standard deviation of all samples from those of each invocation (Chan, Golub and LeVeque 1979). */
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pk_summary *s = &invocations[i].sum;
        double n_all = (double)(r.sum.n + s->n), delta = s->mean - r.sum.mean;
        squares += (s->n > 1 ? s->sd * s->sd * (double)(s->n - 1) : 0) +
                   delta * delta * (double)r.sum.n * (double)s->n / n_all;
        r.sum.mean += delta * (double)s->n / n_all;
        r.sum.n += s->n;
        r.sum.min = fmin(r.sum.min, s->min);
        r.sum.max = fmax(r.sum.max, s->max);
    }
    r.sum.sd = r.sum.n > 1 ? sqrt(squares / (double)(r.sum.n - 1)) : NAN;
    r.sum.cv = r.sum.mean != 0 ? r.sum.sd / fabs(r.sum.mean) : NAN;
    r.sum.median = r.figure = pk_summarize(scratch, n).median;
    return r;
}
