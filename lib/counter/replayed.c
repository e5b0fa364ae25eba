/* Replayed: kernels of a captured graph to the regions marked in it, by where both lie on the lane. */
#include "counter/breakdown.h"

#include "device/device.h"

#include <math.h>

static const double DRIFT_MAX = 100e-6; /* of a computer's clock and a GPU's */

/* On the lane, from where the first of them begins. */
struct span {
    double begin_ns, end_ns;
};

static bool same_launch(const struct pk_mark *a, const struct pk_mark *b)
{
    return a->begin_host_ns == b->begin_host_ns && a->end_host_ns == b->end_host_ns;
}

static bool launched(const struct pk_kernel *k, const struct pk_mark *m)
{
    return k->asked_ns >= m->begin_host_ns && k->asked_ns < m->end_host_ns;
}

static struct span *spans_of(struct pk_device *dev, const struct pk_mark *m, size_t n, struct pk_arena *a)
{
    struct span *s = pk_new_n(a, struct span, n);
    for (size_t i = 0; i < n; i++) {
        s[i].begin_ns = i ? (double)dev->ops->elapsed_ns(dev, m->begin_slot, m[i].begin_slot) : 0;
        s[i].end_ns = (double)dev->ops->elapsed_ns(dev, m->begin_slot, m[i].end_slot);
    }
    return s;
}

/* The place on the lane of a moment of the kernels' clock. */
struct scale {
    double first_ns; /* when the first kernel began */
    double before;   /* its place */
    double stretch;
};

static double place(const struct scale *s, double ns)
{
    return s->before + (ns - s->first_ns) * s->stretch;
}

/* Both clocks begin anywhere, and one may be faster: what marks and kernels span differently is that as far as clocks differ in speed,
 * and what the marks span beyond it lies half before the kernels, half after. */
static struct scale scale_of(const struct pk_kernel *v, size_t n, const struct pk_mark *m,
                             const struct span *s, size_t n_spans)
{
    double first = 0, last = 0, end = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (launched(&v[i], m)) {
            first = !any || (double)v[i].begin_ns < first ? (double)v[i].begin_ns : first;
            last = (double)v[i].end_ns > last ? (double)v[i].end_ns : last;
            any = true;
        }
    for (size_t i = 0; i < n_spans; i++)
        end = s[i].end_ns > end ? s[i].end_ns : end;
    const double span = last - first, beyond = end - span;
    const double drift = fmin(fmax(beyond, -DRIFT_MAX * span), DRIFT_MAX * span);
    return (struct scale){first, fmax(beyond - drift, 0) / 2, span > 0 ? 1 + drift / span : 1};
}

void pk_breakdown_replayed(struct pk_kernel *v, size_t n, struct pk_device *dev)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_mark *m = dev->marks.v;
    size_t n_spans = 0;
    while (n_spans < dev->marks.n && same_launch(m, &m[n_spans]))
        n_spans++;
    if (n_spans < 2 || !dev->ops->elapsed_ns)
        return;
    const struct span *s = spans_of(dev, m, n_spans, &a);
    const struct scale scale = scale_of(v, n, m, s, n_spans);
    for (size_t i = 0; i < n; i++) {
        const double at = place(&scale, ((double)v[i].begin_ns + (double)v[i].end_ns) / 2);
        for (size_t k = n_spans; launched(&v[i], m) && k-- > 0;)
            if (at >= s[k].begin_ns && at < s[k].end_ns) {
                v[i].region = m[k].region;
                v[i].occurrence = (uint32_t)k;
                break;
            }
    }
}
