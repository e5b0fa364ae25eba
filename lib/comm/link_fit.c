/* Link fit: the fastest of each size, and a line through them. */
#include "comm/link_fit.h"

#include "base/arena.h"
#include "base/clock.h"
#include "stats/trend.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_SIZES = 3 };

static int by_bytes(const void *pa, const void *pb)
{
    const struct pk_timed_reduce *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static double middle(double *v, size_t n)
{
    return pk_summarize(v, n).median;
}

/* ns per byte as bytes per second; what does not grow has no end. */
static double rate(double slope)
{
    return slope > 0 ? (double)PK_NS_PER_S / slope : INFINITY;
}

struct pk_link_fit pk_fit_link(struct pk_timed_reduce *v, size_t n, double least_bytes, double most_bytes)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *x = pk_new_n(&a, double, n), *y = pk_new_n(&a, double, n);
    struct pk_link_fit f = {0, NAN, NAN, {NAN, NAN}, {NAN, NAN}};
    qsort(v, n, sizeof *v, by_bytes);
    for (size_t i = 0; i < n; i++) {
        const double b = v[i].bytes;
        if (b < least_bytes || b > most_bytes || (f.sizes && x[f.sizes - 1] == b))
            continue;
        x[f.sizes] = b;
        y[f.sizes++] = v[i].ns;
    }
    if (f.sizes < LEAST_SIZES)
        return f;
    const struct pk_trend t = pk_theil_sen(x, y, f.sizes, 0.95);
    if (!(t.slope > 0))
        return f;
    const double mx = middle(x, f.sizes), my = middle(y, f.sizes);
    f.launch_ns = fmax(t.intercept, 0);
    f.link_bytes_per_s = rate(t.slope);
    f.launch_ci = (struct pk_interval){fmax(my - t.ci.hi * mx, 0), fmax(my - t.ci.lo * mx, 0)};
    f.link_ci = (struct pk_interval){rate(t.ci.hi), rate(t.ci.lo)};
    return f;
}
