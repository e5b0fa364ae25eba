/* GPU state as a source: what NVML says around an iteration. */
#include "base/text/words.h"
#include "counter/sources.h"

#include "base/clock.h"
#include "counter/cuda/nvml/gpu_state.h"

#define EVENT(name, unit, summary, ...) PK_EVENT("gpu-state", name, unit, summary, __VA_ARGS__)
#define HELD_BY(name, summary)                                                                               \
    EVENT(name, "ns", summary, PK_QUALITY_APPROXIMATE, "in the driver's steps", PK_EVENT_SUM)
#define MOMENT "at the end of the iteration"
#define UNTOLD "the driver does not report it for this GPU"
#define IDS_UNKNOWN                                                                                          \
    "NVML does not show which processes are perfkit's: in a container it reports the process ids of the "    \
    "host"

enum { SM_CLOCK, MEMORY_CLOCK, POWER, TEMPERATURE, ENERGY, HELD, OTHERS, HELD_FOR };
enum { EVENTS = HELD_FOR + PK_GPU_HELDS };

static const struct pk_event events[EVENTS] = {
    [SM_CLOCK] = EVENT("gpu_sm_clock_hz", "Hz", "clock of the multiprocessors", PK_QUALITY_APPROXIMATE,
                       MOMENT, PK_EVENT_LEVEL),
    [MEMORY_CLOCK] = EVENT("gpu_memory_clock_hz", "Hz", "clock of the memory", PK_QUALITY_APPROXIMATE, MOMENT,
                           PK_EVENT_LEVEL),
    [POWER] = EVENT("gpu_watts", "W", "power of the board", PK_QUALITY_APPROXIMATE,
                    "as the driver reports it: a mean over the last second on H100 and H200", PK_EVENT_LEVEL),
    [TEMPERATURE] =
        EVENT("gpu_celsius", "C", "temperature of the chip", PK_QUALITY_APPROXIMATE, MOMENT, PK_EVENT_LEVEL),
    [ENERGY] = EVENT("gpu_joules", "J", "energy of the board per iteration", PK_QUALITY_APPROXIMATE,
                     "mean over all iterations since counting began, including the time between them; known "
                     "after 2 s, because the sensor samples a quarter of the time",
                     PK_EVENT_SUM),
    [HELD] = EVENT("gpu_held_back", "1", "reasons for reduced clocks, as bits of the driver",
                   PK_QUALITY_EXACT, "at any moment", PK_EVENT_BITS),
    [OTHERS] = EVENT("gpu_other_processes", "1", "other processes that compute on the GPU", PK_QUALITY_EXACT,
                     "not part of this run", PK_EVENT_LEVEL),
    HELD_BY("gpu_held_by_power_cap_ns", "time with clocks reduced by the power cap"), /* as pk_gpu_helds */
    HELD_BY("gpu_held_by_heat_ns", "time with clocks reduced by heat"),
    HELD_BY("gpu_held_by_sw_thermal_ns", "time with clocks reduced by the driver's thermal slowdown"),
    HELD_BY("gpu_held_by_hw_thermal_ns", "time with clocks reduced by the hardware's thermal slowdown"),
    HELD_BY("gpu_held_by_power_brake_ns", "time with clocks reduced by the hardware's power brake"),
};

static const uint64_t ENERGY_WINDOW_NS = 2 * PK_NS_PER_S;

struct gpu_state_handle {
    const struct pk_nvml *m;
    const struct pk_source_plan *plan;
    const size_t *index;
    pk_nvml_device gpu;
    uint64_t began_ns, now_ns;
    size_t iterations;
    double joules_at_first;
    struct pk_gpu_state before, after;
};

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    const struct pk_nvml *m;
    struct pk_err err;
    unsigned n = 0;
    char driver[80] = "";
    pk_nvml_device d;
    struct pk_gpu_state now = {0};
    if (pk_nvml_open(env, a, &m, &err))
        return pk_found_error(&err, a);
    const bool seen = !m->count(&n) && n && !m->by_index(0, &d);
    m->driver_version(driver, sizeof driver);
    if (seen)
        pk_gpu_state_read(m, d, &now);
    pk_nvml_close(m);
    if (!seen)
        return pk_found(PK_SOURCE_UNAVAILABLE, pk_printf(a, "driver %s sees no GPU", driver), NULL);
    const char *held = pk_gpu_held_back_words(now.held_back, a);
    const char *text =
        pk_printf(a, "driver %s, %s; the first: %.0f MHz, %.0f W, %.0f C%s%s", driver, pk_plural(n, "GPU", a),
                  now.sm_hz / 1e6, now.watts, now.celsius, *held ? ", clocks reduced by " : "", held);
    if (!now.others_known)
        text = pk_printf(a, "%s; whether other processes compute on it is not known here", text);
    else if (now.others)
        return pk_found(PK_SOURCE_DEGRADED,
                        pk_printf(a, "%s; %s %s on it", text, pk_plural(now.others, "other process", a),
                                  pk_predicate(now.others, "compute", a)),
                        "end other processes, or choose another GPU: nvidia-smi lists the processes");
    return pk_found(pk_gpu_held_back_doubtful(now.held_back) ? PK_SOURCE_DEGRADED : PK_SOURCE_OK, text, NULL);
}

/* What doctor tells besides. */
static struct pk_source_found selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a)
{
    struct pk_source_found f = check(s, env, a);
    const struct pk_nvml *m;
    struct pk_err err;
    if (f.state == PK_SOURCE_UNAVAILABLE || pk_nvml_open(env, a, &m, &err))
        return f;
    f.why = pk_printf(a, "%s%s", f.why, pk_gpu_topology(env, m, a));
    pk_nvml_close(m);
    return f;
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    struct gpu_state_handle *h = pk_new(a, struct gpu_state_handle);
    if (pk_source_plan_needs_gpu(p, dev, err))
        return err->code;
    *h = (struct gpu_state_handle){.plan = p, .index = p->state};
    if (pk_nvml_open(env, a, &h->m, err))
        return err->code;
    const enum pk_code rc = pk_nvml_device_of(h->m, dev, &h->gpu, err);
    if (rc)
        pk_nvml_close(h->m);
    else
        *handle = h;
    return rc;
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct gpu_state_handle *h = handle;
    pk_gpu_state_read(h->m, h->gpu, &h->before);
    if (!h->iterations) {
        h->began_ns = pk_clock_ns();
        h->joules_at_first = h->before.joules;
    }
    return PK_OK;
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    struct gpu_state_handle *h = handle;
    pk_gpu_state_read(h->m, h->gpu, &h->after);
    h->now_ns = pk_clock_ns();
    h->iterations++;
    *again = false;
    return PK_OK;
}

static struct pk_reading real(double x, const char *why)
{
    return (struct pk_reading){
        .real = isnan(x) ? 0 : x, .is_real = true, .unavailable = isnan(x), .why = why};
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct gpu_state_handle *h = handle;
    const bool long_enough = h->now_ns - h->began_ns >= ENERGY_WINDOW_NS;
    const bool others_known = h->before.others_known && h->after.others_known;
    const double joules =
        (h->after.joules - h->joules_at_first) / (double)(h->iterations ? h->iterations : 1);
    struct pk_reading all[EVENTS] = {
        [SM_CLOCK] = real(h->after.sm_hz, UNTOLD),
        [MEMORY_CLOCK] = real(h->after.memory_hz, UNTOLD),
        [POWER] = real(h->after.watts, UNTOLD),
        [TEMPERATURE] = real(h->after.celsius, UNTOLD),
        [ENERGY] =
            real(long_enough ? joules : NAN, long_enough ? UNTOLD : "it was counted for less than 2 s"),
        [HELD] = {.integer = (int64_t)(h->before.held_back | h->after.held_back)},
        [OTHERS] = {.integer = h->after.others > h->before.others ? h->after.others : h->before.others,
                    .unavailable = !others_known,
                    .why = others_known ? NULL : IDS_UNKNOWN},
    };
    for (size_t i = 0; i < PK_GPU_HELDS; i++)
        all[HELD_FOR + i] = real(h->after.held_ns[i] - h->before.held_ns[i], UNTOLD);
    for (size_t e = 0; e < h->plan->n; e++)
        out[e] = all[h->index[e]];
    return PK_OK;
}

static void close_(void *handle)
{
    struct gpu_state_handle *h = handle;
    pk_nvml_close(h->m);
}

const struct pk_source pk_source_gpu_state = {
    .name = "gpu-state",
    .summary = "clocks, power, temperature and throttling of an NVIDIA GPU, by NVML",
    .caps = PK_SOURCE_SYSTEM,
    .check = check,
    .selftest = selftest,
    .events = events,
    .n_events = EVENTS,
    .plan = pk_nvml_plan,
    .ours = "which GPU a command uses is not known",
    .open = open_,
    .start = start,
    .stop = stop,
    .read = read_,
    .close = close_,
};
