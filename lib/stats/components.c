/* Components: variances of two levels, and what is cheapest to measure. */
#include "stats/infer.h"

#include "base/arena.h"
#include "stats/dist.h"
#include "stats/stats.h"

#include <math.h>
#include <stdint.h>

const double pk_factor_of_medians = 1.5707963267948966;

struct pk_components pk_variance_components(const struct pk_process_samples *v, size_t n, double factor)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *figures = pk_new_n(&a, double, n), squares = 0, df = 0, shares = 0;
    for (size_t i = 0; i < n; i++) {
        figures[i] = v[i].figure;
        if (v[i].n < 2)
            continue;
        squares += (double)(v[i].n - 1) * v[i].variance;
        df += (double)(v[i].n - 1);
    }
    const double within = squares / df, of_figures = pk_moments(figures, n).variance;
    for (size_t i = 0; i < n; i++)
        shares += 1 / (double)v[i].n / (double)n;
    const double from_samples = df > 0 ? factor * within * shares : 0;
    return (struct pk_components){sqrt(fmax(of_figures - from_samples, 0)), sqrt(within), factor};
}

double pk_figure_sd(const struct pk_components *c, size_t samples)
{
    return isnan(c->within) ? c->between : hypot(c->between, c->within * sqrt(c->factor / (double)samples));
}

/* The mean half-width of the interval of the median of n normal figures: of order statistics (Blom 1958), and for many figures its limit. */
static double half_width(double sd, size_t n, double level)
{
    enum { MANY = 2000 };
    if (n > MANY)
        return pk_normal_quantile(0.5 + level / 2) * sqrt(pk_factor_of_medians / (double)n) * sd;
    const double rank = (double)(n + 1 - pk_invocations_rank(n, level));
    return pk_normal_quantile((rank - 0.375) / ((double)n + 0.25)) * sd;
}

/* The fewest processes for it, as far as it falls with their number: an interval of order statistics falls in steps. */
static size_t fewest_processes(double sd, double wanted, double level)
{
    enum { FEWEST = 6, MOST = 10000000 };
    size_t lo = FEWEST - 1, hi = FEWEST;
    for (; hi < MOST && half_width(sd, hi, level) > wanted; hi *= 2)
        lo = hi;
    while (hi < MOST && hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        *(half_width(sd, mid, level) > wanted ? &lo : &hi) = mid;
    }
    return hi < MOST ? hi : SIZE_MAX;
}

struct pk_sample_sizes pk_cheapest_sample_sizes(const struct pk_components *c, double process_ns,
                                                double sample_ns, double wanted, double level,
                                                size_t max_samples)
{
    struct pk_sample_sizes best = {.processes = SIZE_MAX, .samples = 1, .ns = INFINITY};
    for (size_t samples = 1; samples <= (isnan(c->within) ? 1 : max_samples); samples += 1 + samples / 20) {
        const size_t processes = fewest_processes(pk_figure_sd(c, samples), wanted, level);
        const double ns = (double)processes * (process_ns + (double)samples * sample_ns);
        if (processes < SIZE_MAX && ns < best.ns)
            best = (struct pk_sample_sizes){processes, samples, ns};
    }
    return best;
}
