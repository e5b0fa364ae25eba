/* Bucket model: the two branches in closed form; what real tensors do, played through; a line through the fastest of each size. */
#include "comm/bucket_model.h"

#include "base/arena.h"
#include "base/clock.h"
#include "stats/trend.h"

#include <math.h>
#include <stdlib.h>

#define S (double)PK_NS_PER_S

struct pk_bucket_optimum pk_bucket_optimum(const struct pk_bucket_rates *r)
{
    const double s = r->gradient_bytes, g = r->produced_bytes_per_s, w = r->link_bytes_per_s;
    const double o = r->launch_ns / S;
    struct pk_bucket_optimum best = {
        .regime = PK_BUCKET_COMM_BOUND,
        .balance_bytes = sqrt(s * o * g),
        .hidden_bytes = g < w ? o / (1 / g - 1 / w) : INFINITY,
        .report_bytes = fmin(sqrt(s * o * w), s),
    };
    best.bytes = fmin(fmin(best.balance_bytes, best.hidden_bytes), s);
    if (best.hidden_bytes <= best.balance_bytes)
        best.regime = PK_BUCKET_COMPUTE_BOUND;
    return best;
}

double pk_buckets_end_ns(const struct pk_buckets *b, size_t element_bytes, const double *ready_ns,
                         double launch_ns, double link_bytes_per_s)
{
    double end = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct pk_bucket *k = &b->v[i];
        const double bytes = (double)(k->elements * element_bytes);
        end = fmax(end, ready_ns[k->first + k->n - 1]) + launch_ns + bytes / link_bytes_per_s * S;
    }
    return end;
}

/* end[j]: the least end of the first j tensors. An earlier end is never worse for those that follow, so each needs the best of those
 * before it and nothing else. */
double pk_buckets_ideal_ns(const size_t *elements, size_t n, size_t element_bytes, const double *ready_ns,
                           double launch_ns, double link_bytes_per_s, struct pk_arena *a, size_t *buckets)
{
    double *end = pk_new_n(a, double, n + 1);
    size_t *used = pk_new_n(a, size_t, n + 1);
    for (size_t j = 1; j <= n; j++) {
        double bytes = 0;
        end[j] = INFINITY;
        for (size_t i = j; i-- > 0;) { /* the last bucket: tensors i .. j-1 */
            bytes += (double)(elements[i] * element_bytes);
            const double t = fmax(end[i], ready_ns[j - 1]) + launch_ns + bytes / link_bytes_per_s * S;
            if (t < end[j]) {
                end[j] = t;
                used[j] = used[i] + 1;
            }
        }
    }
    *buckets = used[n];
    return end[n];
}

size_t pk_buckets_best(const size_t *elements, size_t n, const size_t *caps, size_t n_caps, size_t first,
                       size_t element_bytes, const double *ready_ns, double launch_ns,
                       double link_bytes_per_s, struct pk_arena *a)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < n_caps; i++) {
        struct pk_buckets b;
        pk_buckets_plan(elements, n, caps[i], first, a, &b);
        const double end = pk_buckets_end_ns(&b, element_bytes, ready_ns, launch_ns, link_bytes_per_s);
        if (end < least || (end == least && caps[i] > caps[best])) {
            least = end;
            best = i;
        }
    }
    return best;
}

enum { LEAST_SIZES = 3 };

static int by_bytes(const void *pa, const void *pb)
{
    const struct pk_timed_reduce *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
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
    const double mx = pk_summarize(x, f.sizes).median, my = pk_summarize(y, f.sizes).median;
    f.launch_ns = fmax(t.intercept, 0);
    f.link_bytes_per_s = rate(t.slope);
    f.launch_ci = (struct pk_interval){fmax(my - t.ci.hi * mx, 0), fmax(my - t.ci.lo * mx, 0)};
    f.link_ci = (struct pk_interval){rate(t.ci.hi), rate(t.ci.lo)};
    return f;
}
