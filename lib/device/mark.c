/* Marks: regions of work written down as they begin and end, without allocating. */
#include "device/mark.h"

#include "base/err.h"
#include "build_config.h"
#include "device/device.h"

#include <string.h>

#ifdef PK_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

void pk_marks_init(struct pk_marks *m, struct pk_arena *a, size_t cap, bool recorded)
{
    *m = (struct pk_marks){
        .v = pk_new_n(a, struct pk_mark, cap), .cap = cap, .recorded = recorded, .watched = recorded};
    pk_marks_clear(m);
}

void pk_marks_watch(struct pk_marks *m, const struct pk_watcher *w)
{
    m->watcher = w;
    m->watched = m->recorded || w;
}

void pk_marks_clear(struct pk_marks *m)
{
    m->n = m->n_open = 0;
    m->next_slot = 0;
    m->overflow = m->unbalanced = false;
    pk_marks_next_repeat(m);
    m->gauges = 0;
}

void pk_marks_next_repeat(struct pk_marks *m)
{
    memset(m->next_instance, 0, sizeof m->next_instance);
}

/* The calling thread has no queue to record in. */
static bool records(const struct pk_marks *m, enum pk_lane lane)
{
    return m->recorded && lane != PK_LANE_HOST;
}

/* With a watcher: it is called first at a begin and last at an end, and the device's event is recorded next to the clock. Not inlined,
 * so that marks without a watcher cost nothing more. */
static __attribute__((noinline)) void begin_watched(struct pk_device *dev, struct pk_mark *k,
                                                    enum pk_lane lane)
{
    struct pk_marks *m = &dev->marks;
    const char *name = m->names ? m->names[k->region] : NULL;
    if (m->watcher)
        m->watcher->mark(m->watcher->user, k->region, false);
    if (records(m, lane)) {
        k->range = pk_range_begin(name ? name : "a region without a name");
        k->begin_slot = m->next_slot++;
        k->begin_host_ns = dev->ops->now_ns(dev);
        dev->ops->record(dev, lane, k->begin_slot);
    } else {
        k->begin_host_ns = dev->ops->now_ns(dev);
    }
}

/* The slot of the event, 0 = none: an end that was recorded is never in the first slot. */
static __attribute__((noinline)) uint32_t record_end(struct pk_device *dev, enum pk_lane lane)
{
    struct pk_marks *m = &dev->marks;
    if (!records(m, lane))
        return 0;
    dev->ops->record(dev, lane, m->next_slot);
    return m->next_slot++;
}

static __attribute__((noinline)) void end_watched(const struct pk_marks *m, const struct pk_mark *k)
{
    if (k->end_slot)
        pk_range_end(k->range);
    if (m->watcher)
        m->watcher->mark(m->watcher->user, k->region, true);
}

/* The clock is read last, so that the bookkeeping is outside of what is timed. */
void pk_mark_begin(struct pk_device *dev, unsigned region, enum pk_lane lane)
{
    struct pk_marks *m = &dev->marks;
    pk_assert(region < PK_REGIONS_MAX && lane < PK_LANES);
    if (m->n == m->cap) {
        m->overflow = true;
        return;
    }
    struct pk_mark *k = &m->v[m->n++];
    k->region = (uint16_t)region;
    k->instance = m->next_instance[region]++;
    k->lane = (uint8_t)lane;
    k->open = true;
    m->n_open++;
    if (m->watched)
        begin_watched(dev, k, lane);
    else
        k->begin_host_ns = dev->ops->now_ns(dev);
}

/* Ends the innermost occurrence that is open on the lane. */
void pk_mark_end_n(struct pk_device *dev, unsigned region, enum pk_lane lane, uint32_t reps)
{
    struct pk_marks *m = &dev->marks;
    const bool watched = m->watched;
    pk_assert(reps > 0);
    const uint32_t slot = watched ? record_end(dev, lane) : 0;
    const uint64_t now = dev->ops->now_ns(dev);
    for (size_t i = m->n; i-- > 0;) {
        struct pk_mark *k = &m->v[i];
        if (k->open && k->region == region && k->lane == lane) {
            k->end_host_ns = now;
            k->end_slot = slot;
            k->reps = reps;
            k->open = false;
            m->n_open--;
            if (watched)
                end_watched(m, k);
            return;
        }
    }
    m->unbalanced = true;
}

void pk_mark_end(struct pk_device *dev, unsigned region, enum pk_lane lane)
{
    pk_mark_end_n(dev, region, lane, 1);
}

void pk_mark_bytes(struct pk_device *dev, unsigned gauge)
{
    pk_mark_value(dev, gauge, (int64_t)dev->pool.current);
}

void pk_mark_value(struct pk_device *dev, unsigned gauge, int64_t value)
{
    pk_assert(gauge < PK_GAUGES_MAX);
    dev->marks.gauges |= 1u << gauge;
    dev->marks.gauge[gauge] = value;
}

uint64_t pk_mark_lane_ns(struct pk_device *dev, const struct pk_mark *m)
{
    pk_assert(!m->open);
    if (!dev->ops->elapsed_ns || m->lane == PK_LANE_HOST)
        return m->end_host_ns - m->begin_host_ns;
    return dev->ops->elapsed_ns(dev, m->begin_slot, m->end_slot);
}

uint64_t pk_range_begin(const char *name)
{
#ifdef PK_HAVE_NVTX
    return nvtxRangeStartA(name);
#else
    return 0;
#endif
}

void pk_range_end(uint64_t range)
{
#ifdef PK_HAVE_NVTX
    nvtxRangeEnd(range);
#endif
}
