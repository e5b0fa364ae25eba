/* Fake: counts the work declared on the null device, so that counts are exact in tests. One event is never counted, one is counted half
 * of the time, one has no integers, one needs three passes, one is of the whole system. */
#include "counter/sources.h"

#include "base/err.h"
#include "device/device.h"
#include "device/null.h"

#include <string.h>

#define EVENT(name, unit, quality, summary, ...) PK_EVENT("fake", name, unit, summary, quality, __VA_ARGS__)

enum { WORKS, FLOPS, BYTES, TIME, SCALED, ABSENT, REAL, REPLAYED, SHARED, EVENTS };
enum { AT_ONCE = 3, REPLAYS = 3 }; /* events of a pass; passes of the event that needs several */
enum { WHOLE = PK_REGIONS_MAX, SPANS };

static const struct pk_event events[EVENTS] = {
    [WORKS] = EVENT("fake_works", "1", PK_QUALITY_EXACT, "pieces of work declared to the null device", ""),
    [FLOPS] = EVENT("fake_flops", "flops", PK_QUALITY_EXACT, "FLOPs declared to the null device", ""),
    [BYTES] = EVENT("fake_bytes", "bytes", PK_QUALITY_EXACT, "bytes declared to the null device", ""),
    [TIME] = EVENT("fake_ns", "ns", PK_QUALITY_EXACT, "time of its clock", ""),
    [SCALED] = EVENT("fake_scaled", "flops", PK_QUALITY_EXACT, "its FLOPs, seen half of the time", ""),
    [ABSENT] = EVENT("fake_absent", "1", PK_QUALITY_EXACT, "never counted", ""),
    [REAL] =
        EVENT("fake_percent", "1", PK_QUALITY_EXACT, "half of a percent, always", "", .kind = PK_EVENT_LEVEL),
    [REPLAYED] =
        EVENT("fake_replayed", "1", PK_QUALITY_EXACT, "pieces of work of the last of three passes", ""),
    [SHARED] = EVENT("fake_shared", "1", PK_QUALITY_EXACT, "pieces of work of all processes",
                     "of everything that ran there"),
};

struct fake_counts {
    double flops, bytes;
    int64_t works, now_ns;
};

struct fake_handle {
    const struct pk_source_plan *plan;
    const size_t *index;
    struct pk_device *dev;
    unsigned pass;
    struct fake_counts sums[SPANS];
    bool used[SPANS];
};

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    return pk_found(PK_SOURCE_OK, "for tests: what was declared to --device null", NULL);
}

static unsigned passes_of(size_t event)
{
    return event == REPLAYED ? REPLAYS : 1;
}

/* Plans of at most AT_ONCE events; the replayed event has its own plan. */
static enum pk_code plan(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *names, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    struct pk_event *found;
    size_t *index = pk_new_n(a, size_t, n);
    struct pk_source_plan *made = pk_new_n(a, struct pk_source_plan, n);
    if (pk_events_find(s, names, n, a, &found, index, err))
        return err->code;
    *n_plans = 0;
    for (size_t k = 0; k < n; k++) {
        struct pk_source_plan *last = *n_plans ? &made[*n_plans - 1] : NULL;
        if (last && last->n < AT_ONCE && last->passes == 1 && passes_of(index[k]) == 1)
            last->n++;
        else
            made[(*n_plans)++] = (struct pk_source_plan){s, &found[k], 1, passes_of(index[k]), &index[k]};
    }
    *plans = made;
    return PK_OK;
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    if (!dev || dev->kind != PK_DEVICE_NULL) {
        pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be counted", p->events[0].name);
        pk_why(err, "it counts only on the null device, and this is another device");
        return pk_fix(err, "use --device null, or omit it");
    }
    struct fake_handle *h = pk_new(a, struct fake_handle);
    *h = (struct fake_handle){.plan = p, .index = p->state, .dev = dev};
    *handle = h;
    return PK_OK;
}

/* Subtracted at a span's begin and added at its end, so that spans may be nested. */
static void add(struct fake_handle *h, unsigned span, int times)
{
    const struct pk_null_counts c = pk_null_work_counts(h->dev);
    struct fake_counts *sum = &h->sums[span];
    pk_assert(span < SPANS);
    if (!h->used[span])
        *sum = (struct fake_counts){0};
    sum->flops += times * c.flops;
    sum->bytes += times * c.bytes;
    sum->works += times * (int64_t)c.works;
    sum->now_ns += times * (int64_t)pk_device_now_ns(h->dev);
    h->used[span] = true;
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct fake_handle *h = handle;
    memset(h->used, 0, sizeof h->used);
    add(h, WHOLE, -1);
    return PK_OK;
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    struct fake_handle *h = handle;
    add(h, WHOLE, 1);
    h->pass = (h->pass + 1) % h->plan->passes;
    *again = h->pass != 0;
    return PK_OK;
}

static void mark(void *handle, unsigned region, bool end)
{
    add(handle, region, end ? 1 : -1);
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct fake_handle *h = handle;
    const unsigned span = region < 0 ? WHOLE : (unsigned)region;
    const struct fake_counts *c = &h->sums[span];
    const int64_t values[EVENTS] = {
        [WORKS] = c->works, [FLOPS] = (int64_t)c->flops,  [BYTES] = (int64_t)c->bytes,
        [TIME] = c->now_ns, [SCALED] = (int64_t)c->flops, [ABSENT] = 0,
        [REAL] = 0,         [REPLAYED] = c->works,        [SHARED] = c->works,
    };
    for (size_t e = 0; e < h->plan->n; e++) {
        const size_t event = h->index[e];
        const uint64_t enabled_ns = event == SCALED ? (uint64_t)c->now_ns : 0;
        out[e] = (struct pk_reading){.integer = values[event],
                                     .unavailable = event == ABSENT || !h->used[span],
                                     .is_real = event == REAL,
                                     .real = event == REAL ? 0.005 : 0,
                                     .enabled_ns = enabled_ns,
                                     .running_ns = enabled_ns / 2};
    }
    return PK_OK;
}

const struct pk_source pk_source_fake = {
    .name = "fake",
    .summary = "operations of the null device, for tests",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_PROCESS | PK_SOURCE_REPLAYS,
    .check = check,
    .events = events,
    .n_events = EVENTS,
    .plan = plan,
    .ours = "it counts what perfkit's null device does",
    .open = open_,
    .start = start,
    .stop = stop,
    .mark = mark,
    .read = read_,
};
