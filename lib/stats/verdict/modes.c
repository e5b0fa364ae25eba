/* Modes: processes that lie apart from most others, by a rule that does not know the sides, and whether one side has more of them. */
#include "stats/verdict/parts.h"

#include "base/arena.h"
#include "stats/dist.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The main mode: those of the sorted v that are v[from .. until). */
struct window {
    size_t from, until;
};

/* The half of the values that lie closest together. */
static struct window shortest_half(const double *v, size_t n)
{
    const size_t half = n / 2;
    struct window w = {0, half};
    for (size_t i = 1; i + half <= n; i++)
        if (v[i + half - 1] - v[i] < v[w.until - 1] - v[w.from])
            w = (struct window){i, i + half};
    return w;
}

static struct window within(const double *v, size_t n, double centre, double limit)
{
    struct window w = {0, n};
    while (w.from < n && v[w.from] < centre - limit)
        w.from++;
    while (w.until > w.from && v[w.until - 1] > centre + limit)
        w.until--;
    return w;
}

/* The distance between the deciles, in standard deviations of a normal distribution: nine tenths as good as the standard deviation, and it
 * says little of a tail that has not been found yet. */
static double decile_range(const double *v, size_t n)
{
    static const double of_normal = 2.5631031310892007;
    return (pk_quantile(v, n, 0.9) - pk_quantile(v, n, 0.1)) / of_normal;
}

/* How far a value may be from the centre of m others, in their standard deviations. */
static double distance_limit(size_t m, const struct pk_rule *rule)
{
    return rule->apart_sd * sqrt(1 + 1 / (double)m);
}

/* Grows from the shortest half until no value outside is near enough. A value is never apart by less than `least`. */
static struct window main_mode(const double *v, size_t n, double least, const struct pk_rule *rule)
{
    enum { MOST_STEPS = 20 };
    static const double quartiles = 1.3489795003921634; /* of a normal distribution, apart */
    const double rounding = 1 + 1e-9;
    struct window w = shortest_half(v, n), last = {0, 0};
    double sd = (v[w.until - 1] - v[w.from]) / quartiles, centre = (v[w.until - 1] + v[w.from]) / 2;
    for (int i = 0; i < MOST_STEPS && (w.from != last.from || w.until != last.until); i++) {
        last = w;
        w = within(v, n, centre, fmax(least * rounding, distance_limit(w.until - w.from, rule) * sd));
        centre = pk_quantile(v + w.from, w.until - w.from, 0.5);
        sd = decile_range(v + w.from, w.until - w.from);
    }
    return w;
}

static void count_apart(struct pk_modes *m, const signed char *class)
{
    size_t below = 0, above = 0;
    for (size_t i = 0; i < m->n_base + m->n_new; i++) {
        below += class[i] < 0;
        above += class[i] > 0;
    }
    m->apart = above >= below ? (above > 0) : -1;
    for (size_t i = 0; i < m->n_base + m->n_new && m->apart; i++)
        *(i < m->n_base ? &m->slow_base : &m->slow_new) += m->apart > 0 ? class[i] > 0 : class[i] >= 0;
}

struct pk_modes pk_find_modes(const double *v, size_t n_base, size_t n_new, double least, int worse,
                              const struct pk_rule *rule, signed char *class)
{
    enum { FEWEST = 3 };
    const size_t n = n_base + n_new;
    struct pk_modes m = {.n_base = n_base, .n_new = n_new};
    memset(class, 0, n);
    if (n_base < FEWEST || n_new < FEWEST)
        return m;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *sorted = pk_new_n(&a, double, n);
    memcpy(sorted, v, n * sizeof *v);
    qsort(sorted, n, sizeof *sorted, ascending);
    const struct window w = main_mode(sorted, n, least, rule);
    const double lo = sorted[w.from], hi = sorted[w.until - 1];
    if (hi == lo && !(least > 0)) /* ticks: no measure of what is far */
        return m;
    for (size_t i = 0; i < n; i++)
        class[i] = (signed char)(worse * ((v[i] > hi) - (v[i] < lo)));
    count_apart(&m, class);
    if (!m.apart)
        return m;
    const bool above = m.apart * worse > 0;
    const double *rest = above ? sorted + w.until : sorted;
    const size_t n_rest = above ? n - w.until : w.from;
    double *scratch = pk_new_n(&a, double, n);
    const double apart = pk_median_copy(rest, n_rest, scratch),
                 others = pk_median_copy(sorted + w.from, w.until - w.from, scratch);
    m.slow = m.apart > 0 ? apart : others;
    m.fast = m.apart > 0 ? others : apart;
    return m;
}

bool pk_modes_shifted(const struct pk_modes *m)
{
    return m->apart && (2 * m->slow_base > m->n_base) != (2 * m->slow_new > m->n_new);
}

static bool are_sides(const struct pk_modes *m)
{
    return (!m->slow_base && m->slow_new == m->n_new) || (!m->slow_new && m->slow_base == m->n_base);
}

bool pk_modes_divided(const struct pk_modes *m)
{
    return pk_modes_shifted(m) && !are_sides(m);
}

/* Of the processes that lie apart, all are on one side. */
bool pk_modes_one_sided(const struct pk_modes *m)
{
    const size_t base = m->apart > 0 ? m->slow_base : m->n_base - m->slow_base,
                 new_ = m->apart > 0 ? m->slow_new : m->n_new - m->slow_new;
    return m->apart && (base == 0) != (new_ == 0);
}

/* One-sided p of the hypothesis that `more` of m is no larger a share than `fewer` of n. */
static double p_more(size_t more, size_t m, size_t fewer, size_t n)
{
    return more * n > fewer * m ? pk_fisher_above(more, m - more, fewer, n - fewer) : 1;
}

bool pk_modes_may_differ(const struct pk_modes *m)
{
    static const double alike = 0.2;
    return m->slow_new * m->n_base > m->slow_base * m->n_new || pk_modes_one_sided(m) ||
           p_more(m->slow_base, m->n_base, m->slow_new, m->n_new) < alike;
}

double pk_modes_p(const struct pk_modes *m, int towards)
{
    return fmin(1, pk_slow_share * (towards > 0 ? p_more(m->slow_new, m->n_new, m->slow_base, m->n_base)
                                                : p_more(m->slow_base, m->n_base, m->slow_new, m->n_new)));
}

double pk_modes_p_anytime(const struct pk_modes *m)
{
    double below;
    const double k = (double)m->slow_new + 1, others = (double)m->slow_base + 1,
                 above = 1 - pk_beta_inc(0.5, 0.5, k, others, &below);
    const double evidence = exp(pk_log_beta(k, others) + (k + others - 1) * M_LN2) * above;
    return fmin(1, pk_slow_share / evidence);
}

double pk_slow_found(size_t n, double alpha, double power)
{
    size_t k = 1;
    while (k <= n && p_more(k, n, 0, n) >= alpha)
        k++;
    if (k > n)
        return NAN;
    double lo = 0, hi = 1, rest;
    for (int i = 0; i < 40; i++) {
        const double q = (lo + hi) / 2;
        *(pk_beta_inc(q, 1 - q, (double)k, (double)(n - k + 1), &rest) < power ? &lo : &hi) = q;
    }
    return hi;
}

size_t pk_slow_needed(const struct pk_modes *m, double alpha, double power)
{
    /* all of k are of one side: about 1 in 2^k */
    const double k = ceil(log2(1 / alpha)),
                 share = fabs((double)m->slow_new - (double)m->slow_base) / (double)m->n_new,
                 n = (k + pk_normal_quantile(power) * sqrt(k)) / share;
    return n > (double)m->n_new ? (size_t)n - m->n_new + 1 : 1;
}
