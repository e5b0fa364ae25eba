/* Pairs: the order in which they run, and which of them something else disturbed. */
#include "stats/verdict/verdict.h"

#include "base/arena.h"
#include "base/rng.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

void pk_pair_order(uint64_t seed, size_t n, bool *base_first)
{
    struct pk_rng r = {seed};
    bool first = false;
    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0)
            first = pk_rng_below(&r, 2);
        base_first[i] = i % 4 == 0 || i % 4 == 3 ? first : !first;
    }
}

/* Replaces each value by its distance from the median of all. */
static void deviations(double *v, size_t n, double *scratch)
{
    const double median = pk_median_copy(v, n, scratch);
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(v[i] - median);
}

/* The median of both arms' n deviations, which lie side by side. A constant arm, or one nearly so, would make all of the other one's
 * noise a disturbance: then that noise counts alone. */
static double spread(const double *both, size_t n, double *scratch)
{
    static const double alike = 30, normal = 1.482602218505602;
    const double base = normal * pk_median_copy(both, n, scratch),
                 new_ = normal * pk_median_copy(both + n, n, scratch);
    const double most = fmax(base, new_);
    return most > alike * fmin(base, new_) ? most : normal * pk_median_copy(both, 2 * n, scratch);
}

struct pk_disturbed pk_find_disturbed(const struct pk_pairs *p, const struct pk_rule *rule, bool *flags)
{
    enum { FEWEST_LEFT = 4 };
    struct pk_disturbed found = {0};
    size_t n = p->n;
    if (!n)
        return found;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *base = pk_new_n(&a, double, 2 * n), *new_ = base + n, *scratch = pk_new_n(&a, double, 2 * n);
    memcpy(base, p->base, n * sizeof *base);
    memcpy(new_, p->new_, n * sizeof *new_);
    pk_log_or_copy(base, base, 2 * n);
    deviations(base, n, scratch);
    deviations(new_, n, scratch);
    double most = rule->disturbed_mad * spread(base, n, scratch);
    bool *out = flags ? flags : pk_new_n(&a, bool, n);
    for (size_t i = 0; i < n; i++) {
        bool b = most > 0 && base[i] > most, w = most > 0 && new_[i] > most;
        out[i] = b || w;
        found.base += b;
        found.new_ += w;
        found.pairs += out[i];
    }
    if (!found.pairs || (2 * found.pairs <= n && n - found.pairs >= FEWEST_LEFT))
        return found;
    memset(out, 0, n * sizeof *out);
    return (struct pk_disturbed){.refused = true};
}
