/* GPU usage as a source: power and utilisation over time, by a thread that asks NVML while the work runs.
 *
 * Utilisation is that between two samples of NVML's GPU performance monitoring (GPM, from Hopper on), which the driver refreshes every
 * 100 ms: shorter iterations have one average, longer ones several. It needs no replay and no privilege. */
#include "counter/sources.h"

#include "base/clock.h"
#include "counter/cuda/nvml/nvml.h"
#include "json/json.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define EVENT(name, unit, summary)                                                                           \
    PK_EVENT("gpu-usage", name, unit, summary, PK_QUALITY_APPROXIMATE,                                       \
             "mean of steps of 0.1 s; iterations shorter than that include gaps", PK_EVENT_LEVEL)
#define INTERVAL_NS (105 * PK_NS_PER_MS) /* nvml.h: the interval should be greater than 100 ms */

enum { POWER, BUSY, WARPS, TENSOR, MEMORY, EVENTS };
enum { USAGES = EVENTS - 1, MOMENTS_MAX = 1 << 14 };

static const struct pk_event events[EVENTS] = {
    [POWER] = EVENT("gpu_power_watts", "W", "power of the board at the moments"),
    [BUSY] = EVENT("gpu_sm_busy", "1", "share of the multiprocessors that were busy"),
    [WARPS] = EVENT("gpu_warps_active", "1", "share of the warps that a GPU can hold that were active"),
    [TENSOR] = EVENT("gpu_tensor_busy", "1", "share of the time in which tensor cores worked"),
    [MEMORY] = EVENT("gpu_dram_used", "1", "share of the memory bandwidth that was used"),
};
static const unsigned gpm_ids[USAGES] = {2, 3, 5, 10}; /* NVML_GPM_METRIC_SM_UTIL and so on, in percent */

struct usage_moment {
    uint64_t at_ns;
    double value[EVENTS]; /* NaN = not told */
};

struct gpu_usage_handle {
    const struct pk_nvml *m;
    const struct pk_source_plan *plan;
    const size_t *index;
    pk_nvml_device gpu;
    uint64_t interval_ns, began_ns;
    bool gpm; /* both samples are there */
    struct pk_nvml_gpm_sample sample[2];
    struct pk_nvml_gpm_metrics *metrics;
    struct usage_moment *v;
    atomic_size_t n;
    atomic_bool inside, quit;
    bool running;
    pthread_t thread;
};

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    const struct pk_nvml *m;
    struct pk_err err;
    unsigned n = 0;
    pk_nvml_device d;
    if (pk_nvml_open(env, a, &m, &err))
        return pk_found_error(&err, a);
    const bool seen = !m->count(&n) && n && !m->by_index(0, &d);
    const bool gpm = seen && pk_nvml_has_gpm(m, d);
    pk_nvml_close(m);
    if (!seen)
        return pk_found(PK_SOURCE_UNAVAILABLE, "the driver sees no GPU", NULL);
    return gpm ? pk_found(PK_SOURCE_OK, "power and utilisation every 0.1 s", NULL)
               : pk_found(PK_SOURCE_DEGRADED,
                          "power every 0.1 s; this GPU or driver reports no utilisation (GPM)",
                          "it needs Hopper or later and driver 520 or later");
}

static double power_watts(const struct gpu_usage_handle *h)
{
    struct pk_nvml_field f = {.id = PK_NVML_POWER_INSTANT};
    unsigned milliwatts;
    if (h->m->fields && !h->m->fields(h->gpu, 1, &f) && !f.rc && f.type == PK_NVML_U32)
        return f.value.u32 / 1e3;
    return h->m->power(h->gpu, &milliwatts) ? NAN : milliwatts / 1e3;
}

/* What happened since the last moment: the samples change places. */
static void read_usage(struct gpu_usage_handle *h, double *value)
{
    const struct pk_nvml *m = h->m;
    struct pk_nvml_gpm_metrics *g = h->metrics;
    const struct pk_nvml_gpm_sample before = h->sample[0], now = h->sample[1];
    for (size_t i = 0; i < USAGES; i++)
        value[i] = NAN;
    if (!h->gpm || m->gpm_sample(h->gpu, now))
        return;
    *g = (struct pk_nvml_gpm_metrics){.version = 1, .n = USAGES, .before = before, .now = now};
    for (size_t i = 0; i < USAGES; i++)
        g->v[i].id = gpm_ids[i];
    const bool read = !m->gpm_metrics(g);
    for (size_t i = 0; read && i < USAGES; i++)
        value[i] = g->v[i].rc ? NAN : g->v[i].value / 100;
    h->sample[0] = now;
    h->sample[1] = before;
}

/* Moments between iterations are read, so that the next one has a beginning, and not kept. */
static void *watch(void *handle)
{
    struct gpu_usage_handle *h = handle;
    const struct timespec pause = {(time_t)(h->interval_ns / PK_NS_PER_S),
                                   (long)(h->interval_ns % PK_NS_PER_S)};
    while (!atomic_load(&h->quit)) {
        const bool began_inside = atomic_load(&h->inside);
        nanosleep(&pause, NULL);
        struct usage_moment now = {.at_ns = pk_clock_ns()};
        now.value[POWER] = power_watts(h);
        read_usage(h, &now.value[BUSY]);
        const size_t n = atomic_load(&h->n);
        if (began_inside && atomic_load(&h->inside) && n < MOMENTS_MAX) {
            h->v[n] = now;
            atomic_store(&h->n, n + 1);
        }
    }
    return NULL;
}

static void close_(void *handle)
{
    struct gpu_usage_handle *h = handle;
    atomic_store(&h->quit, true);
    if (h->running)
        pthread_join(h->thread, NULL);
    for (int i = 0; i < 2; i++)
        if (h->sample[i].p)
            h->m->gpm_free(h->sample[i]);
    pk_nvml_close(h->m);
}

/* Signals are for the other threads. */
static enum pk_code begin_watching(struct gpu_usage_handle *h, struct pk_err *err)
{
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    h->running = pthread_create(&h->thread, NULL, watch, h) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (h->running)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "the GPU's usage cannot be read");
    pk_why(err, "no thread can be started");
    return pk_fix(err, "raise the limit of processes (ulimit -u)");
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    struct gpu_usage_handle *h = pk_new(a, struct gpu_usage_handle);
    if (pk_source_plan_needs_gpu(p, dev, err))
        return err->code;
    h->plan = p;
    h->index = p->state;
    h->interval_ns = env->usage_ns ? env->usage_ns : INTERVAL_NS;
    h->metrics = pk_new(a, struct pk_nvml_gpm_metrics);
    h->v = pk_new_n(a, struct usage_moment, MOMENTS_MAX);
    if (pk_nvml_open(env, a, &h->m, err))
        return err->code;
    enum pk_code rc = pk_nvml_device_of(h->m, dev, &h->gpu, err);
    h->gpm = !rc && pk_nvml_has_gpm(h->m, h->gpu) && !h->m->gpm_alloc(&h->sample[0]) &&
             !h->m->gpm_alloc(&h->sample[1]) && !h->m->gpm_sample(h->gpu, h->sample[0]);
    if (!rc)
        rc = begin_watching(h, err);
    if (rc)
        close_(h);
    else
        *handle = h;
    return rc;
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct gpu_usage_handle *h = handle;
    h->began_ns = h->began_ns ? h->began_ns : pk_clock_ns();
    atomic_store(&h->inside, true);
    return PK_OK;
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    struct gpu_usage_handle *h = handle;
    atomic_store(&h->inside, false);
    *again = false;
    return PK_OK;
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    struct gpu_usage_handle *h = handle;
    const size_t n = atomic_load(&h->n);
    for (size_t e = 0; e < h->plan->n; e++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += h->v[i].value[h->index[e]];
        const bool told = n && !isnan(sum);
        out[e] =
            (struct pk_reading){.real = told ? sum / (double)n : 0,
                                .is_real = true,
                                .unavailable = !told,
                                .why = told ? NULL
                                       : n  ? "the driver does not report it for this GPU"
                                            : "it was counted for less than 0.2 s, two steps of the driver"};
    }
    return PK_OK;
}

/* [[at_ns, watts, sm_busy, warps_active, tensor_busy, dram_used], ...], from the begin of the first iteration; null = not told. */
static json_t *moments(void *handle)
{
    struct gpu_usage_handle *h = handle;
    json_t *list = json_array();
    for (size_t i = 0; i < atomic_load(&h->n); i++) {
        json_t *row = json_array();
        json_array_append_new(row, json_integer((json_int_t)(h->v[i].at_ns - h->began_ns)));
        for (size_t e = 0; e < EVENTS; e++)
            json_array_append_new(row, isnan(h->v[i].value[e]) ? json_null() : json_real(h->v[i].value[e]));
        json_array_append_new(list, row);
    }
    return list;
}

const struct pk_source pk_source_gpu_usage = {
    .name = "gpu-usage",
    .summary = "power and utilisation of an NVIDIA GPU over time, by NVML",
    .caps = PK_SOURCE_SYSTEM,
    .check = check,
    .events = events,
    .n_events = EVENTS,
    .plan = pk_nvml_plan,
    .ours = "which GPU a command uses is not known",
    .open = open_,
    .start = start,
    .stop = stop,
    .read = read_,
    .moments = moments,
    .close = close_,
};
