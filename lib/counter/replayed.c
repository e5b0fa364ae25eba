/* Replayed: kernels of a captured graph to the regions marked in it, by where both lie on the lane. */
#include "counter/breakdown.h"

#include "device/device.h"

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

/* When the first mark began, by the kernels' clock: what the marks span beyond the kernels is half before them. */
static double origin(const struct pk_kernel *v, size_t n, const struct pk_mark *m, const struct span *s,
                     size_t n_spans)
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
    return first - (end > last - first ? (end - (last - first)) / 2 : 0);
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
    const double began = origin(v, n, m, s, n_spans);
    for (size_t i = 0; i < n; i++) {
        const double at = ((double)v[i].begin_ns + (double)v[i].end_ns) / 2 - began;
        for (size_t k = n_spans; launched(&v[i], m) && k-- > 0;)
            if (at >= s[k].begin_ns && at < s[k].end_ns) {
                v[i].region = m[k].region;
                v[i].occurrence = (uint32_t)k;
                break;
            }
    }
}
