/* GPU counters: an NVIDIA GPU's hardware counters by CUPTI's range profiler, with user ranges and user replay: the work is repeated
 * until every pass is done, so that no memory has to be saved.
 *
 * An iteration is divided at the begins and ends of regions into consecutive ranges: one level, which needs no extra passes. A range
 * counts for every region that is open then. The device is idle between ranges, so that work launched within a range also runs there:
 * kernels of different lanes no longer overlap across ranges. Sums are added up over the ranges of a region. A share or an average
 * (occupancy) is available only for a region with one range, not for regions with inner regions. */
#include "counter/sources.h"

#include "base/err.h"
#include "counter/cuda/chip.h"
#include "counter/cuda/cupti.h"
#include "counter/cuda/ranges.h"
#include "device/device.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE = PK_REGIONS_MAX, SPANS };

/* Of a plan. */
struct gpu_plan {
    const char *chip;
    struct pk_gpu_event *events;
    const char **metrics;
};

struct gpu_counters_handle {
    const struct pk_source_plan *plan;
    const struct gpu_plan *planned; /* its state */
    struct pk_ranges ranges;
    struct pk_err failed; /* what went wrong where nothing can be answered */
    uint64_t inside;      /* bit per region that is open */
    double *sums[SPANS];  /* [plan->n] */
    bool *not_a_number[SPANS];
    size_t n_ranges[SPANS];
};

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    const struct pk_cupti *c;
    const char *chip;
    struct pk_err err;
    if (pk_cupti_possible(env, true, a, &c, &err) || pk_chip_here(env, c, a, &chip, &err))
        return pk_found_error(&err, a);
    return pk_found(PK_SOURCE_OK,
                    pk_printf(a, "CUPTI %s counts on chip %s", c->version ? c->version : "", chip), NULL);
}

static size_t list(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_event **out)
{
    return pk_gpu_events_all(a, out);
}

/* The n events with outside == wanted, as one plan; none when there are none. */
static enum pk_code plan_part(const struct pk_cupti *c, const char *chip, const struct pk_gpu_event *found,
                              size_t n, bool outside, struct pk_arena *a, struct pk_source_plan *out,
                              size_t *n_plans, struct pk_err *err)
{
    struct gpu_plan *p = pk_new(a, struct gpu_plan);
    struct pk_event *events = pk_new_n(a, struct pk_event, n);
    struct pk_chip_counters k;
    struct pk_chip_config config;
    size_t kept = 0;
    *p = (struct gpu_plan){chip, pk_new_n(a, struct pk_gpu_event, n), pk_new_n(a, const char *, n)};
    for (size_t i = 0; i < n; i++)
        if (found[i].outside == outside) {
            p->events[kept] = found[i];
            p->metrics[kept] = found[i].event.native;
            events[kept++] = found[i].event;
        }
    if (!kept)
        return PK_OK;
    enum pk_code rc = pk_chip_open(c, chip, NULL, &k, err);
    if (!rc)
        rc = pk_chip_configure(&k, p->metrics, kept, a, &config, err);
    pk_chip_close(&k);
    if (!rc)
        out[(*n_plans)++] = (struct pk_source_plan){&pk_source_gpu_counters, events, kept, config.passes, p};
    return rc;
}

static enum pk_code plan(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *names, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    const struct pk_cupti *c;
    const char *chip;
    struct pk_chip_counters k;
    struct pk_gpu_event *found = pk_new_n(a, struct pk_gpu_event, n);
    struct pk_source_plan *made = pk_new_n(a, struct pk_source_plan, 2);
    enum pk_code rc = PK_OK;
    *plans = made;
    *n_plans = 0;
    for (size_t i = 0; !rc && i < n; i++)
        rc = pk_gpu_event_looks(names[i], a, err);
    if (!rc)
        rc = env->chip ? pk_cupti_open(env, a, &c, err) : pk_cupti_possible(env, true, a, &c, err);
    if (rc || (rc = pk_chip_here(env, c, a, &chip, err)) || (rc = pk_chip_open(c, chip, NULL, &k, err)))
        return rc;
    for (size_t i = 0; !rc && i < n; i++)
        rc = pk_gpu_event_find(&k, names[i], a, &found[i], err);
    pk_chip_close(&k);
    if (!rc)
        rc = plan_part(c, chip, found, n, false, a, made, n_plans, err);
    return rc ? rc : plan_part(c, chip, found, n, true, a, made, n_plans, err);
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    struct gpu_counters_handle *h = pk_new(a, struct gpu_counters_handle);
    const struct pk_cupti *c;
    if (pk_source_plan_needs_gpu(p, dev, err))
        return err->code;
    h->plan = p;
    h->planned = p->state;
    for (int s = 0; s < SPANS; s++) {
        h->sums[s] = pk_new_n(a, double, h->plan->n);
        h->not_a_number[s] = pk_new_n(a, bool, h->plan->n);
    }
    enum pk_code rc = pk_cupti_open(env, a, &c, err);
    if (!rc)
        rc = pk_ranges_open(&h->ranges, c, dev, h->planned->metrics, p->n, a, err);
    if (!rc)
        *handle = h;
    return rc;
}

static void close_(void *handle)
{
    struct gpu_counters_handle *h = handle;
    pk_ranges_close(&h->ranges);
}

/* A range is named by the regions that contain it. */
static enum pk_code push(struct gpu_counters_handle *h, struct pk_err *err)
{
    char name[20];
    _Static_assert(PK_REGIONS_MAX <= 64, "a region is a bit");
    snprintf(name, sizeof name, "%" PRIx64, h->inside);
    return pk_ranges_push(&h->ranges, name, err);
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct gpu_counters_handle *h = handle;
    if (!h->ranges.n) {
        for (int s = 0; s < SPANS; s++) {
            h->n_ranges[s] = 0;
            memset(h->sums[s], 0, h->plan->n * sizeof *h->sums[s]);
            memset(h->not_a_number[s], 0, h->plan->n * sizeof *h->not_a_number[s]);
        }
    }
    h->failed.code = PK_OK;
    h->inside = 0;
    const enum pk_code rc = pk_ranges_start(&h->ranges, err);
    return rc ? rc : push(h, err);
}

/* Ends the open range, and begins another. */
static void mark(void *handle, unsigned region, bool end)
{
    struct gpu_counters_handle *h = handle;
    pk_assert(region < PK_REGIONS_MAX);
    h->inside = end ? h->inside & ~(UINT64_C(1) << region) : h->inside | UINT64_C(1) << region;
    if (!h->failed.code)
        h->failed.code = pk_ranges_pop(&h->ranges, &h->failed);
    if (!h->failed.code)
        h->failed.code = push(h, &h->failed);
}

static void add_values(struct gpu_counters_handle *h, unsigned span, const double *values)
{
    h->n_ranges[span]++;
    for (size_t e = 0; e < h->plan->n; e++) {
        h->sums[span][e] += values[e] * h->planned->events[e].scale;
        h->not_a_number[span][e] |= !isfinite(values[e]);
    }
}

static void add_range(void *handle, const char *name, const double *values)
{
    const uint64_t inside = strtoull(name, NULL, 16);
    add_values(handle, WHOLE, values);
    for (unsigned r = 0; r < PK_REGIONS_MAX; r++)
        if (inside >> r & 1)
            add_values(handle, r, values);
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    struct gpu_counters_handle *h = handle;
    *again = false;
    if (!h->failed.code)
        h->failed.code = pk_ranges_pop(&h->ranges, &h->failed);
    if (h->failed.code) {
        *err = h->failed;
        return err->code;
    }
    return pk_ranges_stop(&h->ranges, add_range, h, again, err);
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct gpu_counters_handle *h = handle;
    const unsigned span = region < 0 ? WHOLE : (unsigned)region;
    for (size_t e = 0; e < h->plan->n; e++) {
        const bool adds = h->planned->events[e].adds;
        const double sum = h->sums[span][e];
        out[e].why = !h->n_ranges[span] ? "the profiler recorded no range of it"
                     : h->not_a_number[span][e]
                         ? "CUPTI returned NaN, as on a MIG instance for units that it shares"
                     : !adds && h->n_ranges[span] > 1 ? "a share over several pieces cannot be computed"
                                                      : NULL;
        out[e] = (struct pk_reading){.unavailable = out[e].why != NULL, .why = out[e].why};
        out[e].is_real = !adds && !out[e].unavailable;
        if (!out[e].unavailable && adds)
            out[e].integer = llround(sum);
        else if (!out[e].unavailable)
            out[e].real = sum;
    }
    return PK_OK;
}

const struct pk_source pk_source_gpu_counters = {
    .name = "gpu-counters",
    .summary = "hardware counters of an NVIDIA GPU, by CUPTI",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_PROCESS | PK_SOURCE_REPLAYS | PK_SOURCE_SERIALISES,
    .check = check,
    .selftest = pk_gpu_counters_selftest,
    .list = list,
    .plan = plan,
    .ours = "CUPTI counts only its own process, and a command is another process",
    .open = open_,
    .start = start,
    .stop = stop,
    .mark = mark,
    .read = read_,
    .close = close_,
};
