/* GPU counters: an NVIDIA GPU's hardware counters by CUPTI's range profiler: ranges of our own, and the work repeated by ourselves until
 * every pass is done, so that no memory has to be saved.
 *
 * An iteration is cut at the begins and ends of regions into ranges that lie side by side: one level, which needs no passes of its
 * own. The device is idle at each cut, so that what was asked for within a range also runs there: kernels of different lanes no longer
 * overlap across cuts. Sums are those of the ranges; a share or an average (occupancy) is that of the only range of a region, and absent
 * where it has several. */
#include "counter/sources.h"

#include "base/assert.h"
#include "counter/cuda/gpu_events.h"
#include "counter/cuda/selftests.h"
#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK(type)                                                                                          \
    (type)                                                                                                   \
    {                                                                                                        \
        .structSize = type##_STRUCT_SIZE                                                                     \
    }

enum { REST = PK_REGIONS_MAX, WHOLE, SPANS, RANGES_MAX = 1024 };

/* Of a plan. */
struct planned {
    const char *chip;
    struct pk_gpu_event *events;
    const char **metrics;
};

struct handle {
    const struct pk_cupti *c;
    const struct pk_source_plan *plan;
    struct pk_device *dev;
    struct pk_chip_counters chip;
    struct pk_chip_config config;
    CUpti_RangeProfiler_Object *profiler;
    uint8_t *data;
    size_t data_bytes;
    bool initialised, enabled, under_way; /* under_way: some passes are done, not all */
    unsigned span;                        /* of the open range */
    size_t pushed;                        /* ranges of this pass */
    struct pk_err failed;                 /* what went wrong where nothing can be answered */
    char names[REST + 1][8];
    double *values;      /* of one range */
    double *sums[SPANS]; /* [plan->n] */
    bool *not_a_number[SPANS];
    size_t occurrences[SPANS];
};

static struct pk_source_found check(const struct pk_counter_env *env, struct pk_arena *a)
{
    const struct pk_cupti *c;
    const char *chip;
    struct pk_err err;
    if (pk_cupti_possible(env, true, a, &c, &err) || pk_chip_here(env, c, 0, a, &chip, &err))
        return pk_found_error(&err, a);
    return (struct pk_source_found){
        PK_SOURCE_OK, 0, pk_printf(a, "CUPTI %s counts on chip %s", c->version ? c->version : "", chip),
        NULL};
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
    struct planned *p = pk_new(a, struct planned);
    struct pk_event *events = pk_new_n(a, struct pk_event, n);
    struct pk_chip_counters k;
    struct pk_chip_config config;
    size_t kept = 0;
    *p = (struct planned){chip, pk_new_n(a, struct pk_gpu_event, n), pk_new_n(a, const char *, n)};
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

static enum pk_code plan(const struct pk_counter_env *env, const char *const *names, size_t n,
                         struct pk_arena *a, const struct pk_source_plan **plans, size_t *n_plans,
                         struct pk_err *err)
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
    if (rc || (rc = pk_chip_here(env, c, 0, a, &chip, err)) || (rc = pk_chip_open(c, chip, NULL, &k, err)))
        return rc;
    for (size_t i = 0; !rc && i < n; i++)
        rc = pk_gpu_event_find(&k, names[i], a, &found[i], err);
    pk_chip_close(&k);
    if (!rc)
        rc = plan_part(c, chip, found, n, false, a, made, n_plans, err);
    return rc ? rc : plan_part(c, chip, found, n, true, a, made, n_plans, err);
}

static const struct planned *planned(const struct handle *h)
{
    return h->plan->state;
}

/* The fields say which configuration it is that forbids; CUPTI's codes have the words. */
static enum pk_code supported(const struct handle *h, struct pk_err *err)
{
    CUpti_Profiler_DeviceSupported_Params p = BLOCK(CUpti_Profiler_DeviceSupported_Params);
    p.cuDevice = (CUdevice)h->dev->ordinal;
    p.api = CUPTI_PROFILER_RANGE_PROFILING;
    if (pk_cupti_check(h->c, h->c->cuptiProfilerDeviceSupported(&p), "counting on this GPU", err))
        return err->code;
    if (p.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return PK_OK;
    const struct {
        CUpti_Profiler_Support_Level level;
        CUptiResult means;
    } fields[] = {{p.vGpu, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED},
                  {p.confidentialCompute, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED},
                  {p.sli, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED},
                  {p.wsl, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED},
                  {p.cmp, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
            fields[i].level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
            return pk_cupti_check(h->c, fields[i].means, "counting on this GPU", err);
    return pk_cupti_check(h->c, CUPTI_ERROR_NOT_SUPPORTED, "counting on this GPU", err);
}

/* What this GPU lets us count: less than its chip in a MIG instance. */
static enum pk_code availability(const struct handle *h, CUcontext ctx, struct pk_arena *a, uint8_t **image,
                                 struct pk_err *err)
{
    CUpti_Profiler_GetCounterAvailability_Params p = BLOCK(CUpti_Profiler_GetCounterAvailability_Params);
    p.ctx = ctx;
    if (pk_cupti_check(h->c, h->c->cuptiProfilerGetCounterAvailability(&p), "asking what the GPU may count",
                       err))
        return err->code;
    p.pCounterAvailabilityImage = *image = pk_alloc(a, p.counterAvailabilityImageSize);
    return pk_cupti_check(h->c, h->c->cuptiProfilerGetCounterAvailability(&p),
                          "asking what the GPU may count", err);
}

static enum pk_code make_data(struct handle *h, struct pk_arena *a, struct pk_err *err)
{
    CUpti_RangeProfiler_GetCounterDataSize_Params p = BLOCK(CUpti_RangeProfiler_GetCounterDataSize_Params);
    p.pRangeProfilerObject = h->profiler;
    p.pMetricNames = planned(h)->metrics;
    p.numMetrics = h->plan->n;
    p.maxNumOfRanges = p.maxNumRangeTreeNodes = RANGES_MAX;
    if (pk_cupti_check(h->c, h->c->cuptiRangeProfilerGetCounterDataSize(&p), "sizing the counts", err))
        return err->code;
    h->data_bytes = p.counterDataSize;
    h->data = pk_alloc(a, h->data_bytes);
    h->values = pk_new_n(a, double, h->plan->n);
    for (int s = 0; s < SPANS; s++) {
        h->sums[s] = pk_new_n(a, double, h->plan->n);
        h->not_a_number[s] = pk_new_n(a, bool, h->plan->n);
    }
    for (unsigned r = 0; r < REST; r++)
        snprintf(h->names[r], sizeof h->names[r], "%u", r);
    snprintf(h->names[REST], sizeof h->names[REST], "rest");
    return PK_OK;
}

static enum pk_code begin_profiler(struct handle *h, struct pk_arena *a, struct pk_err *err)
{
    CUcontext ctx;
    uint8_t *available = NULL;
    const char *chip;
    const struct pk_counter_env none = {0};
    CUpti_Profiler_Initialize_Params init = BLOCK(CUpti_Profiler_Initialize_Params);
    CUpti_RangeProfiler_Enable_Params enable = BLOCK(CUpti_RangeProfiler_Enable_Params);
    if (pk_cupti_context(h->c, &ctx, err) ||
        pk_cupti_check(h->c, h->c->cuptiProfilerInitialize(&init), "starting the profiler", err))
        return err->code;
    h->initialised = true;
    if (supported(h, err) || availability(h, ctx, a, &available, err) ||
        pk_chip_here(&none, h->c, h->dev->ordinal, a, &chip, err) ||
        pk_chip_open(h->c, chip, available, &h->chip, err) ||
        pk_chip_configure(&h->chip, planned(h)->metrics, h->plan->n, a, &h->config, err))
        return err->code;
    enable.ctx = ctx;
    if (pk_cupti_check(h->c, h->c->cuptiRangeProfilerEnable(&enable), "counting on the GPU", err))
        return err->code;
    h->profiler = enable.pRangeProfilerObject;
    h->enabled = true;
    return make_data(h, a, err);
}

static void close_(void *handle)
{
    struct handle *h = handle;
    CUpti_RangeProfiler_Disable_Params disable = BLOCK(CUpti_RangeProfiler_Disable_Params);
    CUpti_Profiler_DeInitialize_Params end = BLOCK(CUpti_Profiler_DeInitialize_Params);
    disable.pRangeProfilerObject = h->profiler;
    if (h->enabled)
        h->c->cuptiRangeProfilerDisable(&disable);
    pk_chip_close(&h->chip);
    if (h->initialised)
        h->c->cuptiProfilerDeInitialize(&end);
    h->enabled = h->initialised = false;
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    struct handle *h = pk_new(a, struct handle);
    if (!dev || dev->kind != PK_DEVICE_CUDA) {
        pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be counted", p->events[0].name);
        pk_why(err, "it is counted on NVIDIA GPUs, and the device is another");
        return pk_fix(err, "--device cuda, or leave it out");
    }
    h->plan = p;
    h->dev = dev;
    if (pk_cupti_open(env, a, &h->c, err))
        return err->code;
    const enum pk_code rc = begin_profiler(h, a, err);
    if (rc)
        close_(h);
    else
        *handle = h;
    return rc;
}

/* Before the first pass. */
static enum pk_code set_up(struct handle *h, struct pk_err *err)
{
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params data =
        BLOCK(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    CUpti_RangeProfiler_SetConfig_Params set = BLOCK(CUpti_RangeProfiler_SetConfig_Params);
    data.pRangeProfilerObject = set.pRangeProfilerObject = h->profiler;
    data.counterDataSize = set.counterDataImageSize = h->data_bytes;
    data.pCounterData = set.pCounterDataImage = h->data;
    set.configSize = h->config.image_bytes;
    set.pConfig = h->config.image;
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = RANGES_MAX;
    set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
    const enum pk_code rc = pk_cupti_check(h->c, h->c->cuptiRangeProfilerCounterDataImageInitialize(&data),
                                           "clearing the counts", err);
    return rc ? rc
              : pk_cupti_check(h->c, h->c->cuptiRangeProfilerSetConfig(&set), "choosing the counters", err);
}

static void push(struct handle *h, unsigned span)
{
    CUpti_RangeProfiler_PushRange_Params p = BLOCK(CUpti_RangeProfiler_PushRange_Params);
    p.pRangeProfilerObject = h->profiler;
    p.pRangeName = h->names[span];
    h->span = span;
    h->pushed++;
    if (!h->failed.code)
        h->failed.code =
            pk_cupti_check(h->c, h->c->cuptiRangeProfilerPushRange(&p), "beginning a range", &h->failed);
}

/* When all that was asked for has run. */
static void pop(struct handle *h)
{
    CUpti_RangeProfiler_PopRange_Params p = BLOCK(CUpti_RangeProfiler_PopRange_Params);
    p.pRangeProfilerObject = h->profiler;
    if (!h->failed.code)
        h->failed.code = pk_device_sync(h->dev, &h->failed);
    if (!h->failed.code)
        h->failed.code =
            pk_cupti_check(h->c, h->c->cuptiRangeProfilerPopRange(&p), "ending a range", &h->failed);
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct handle *h = handle;
    CUpti_RangeProfiler_Start_Params p = BLOCK(CUpti_RangeProfiler_Start_Params);
    p.pRangeProfilerObject = h->profiler;
    h->failed.code = PK_OK;
    h->pushed = 0;
    if (pk_device_sync(h->dev, err) || (!h->under_way && set_up(h, err)) ||
        pk_cupti_check(h->c, h->c->cuptiRangeProfilerStart(&p), "starting a pass", err))
        return err->code;
    h->under_way = true;
    push(h, REST);
    return PK_OK;
}

static void begin(void *handle, unsigned region)
{
    pk_assert(region < PK_REGIONS_MAX);
    pop(handle);
    push(handle, region);
}

static void end(void *handle, unsigned region)
{
    pop(handle);
    push(handle, REST);
}

static void add_range(struct handle *h, const char *name)
{
    const unsigned span = strcmp(name, h->names[REST]) ? (unsigned)strtoul(name, NULL, 10) : REST;
    const unsigned to[] = {span < REST ? span : REST, WHOLE};
    for (size_t t = 0; t < 2; t++) {
        h->occurrences[to[t]]++;
        for (size_t e = 0; e < h->plan->n; e++) {
            h->sums[to[t]][e] += h->values[e] * planned(h)->events[e].scale;
            h->not_a_number[to[t]][e] |= !isfinite(h->values[e]);
        }
    }
}

static enum pk_code evaluate(struct handle *h, size_t range, struct pk_err *err)
{
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params info =
        BLOCK(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    CUpti_Profiler_Host_EvaluateToGpuValues_Params p = BLOCK(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    info.pCounterDataImage = p.pCounterDataImage = h->data;
    info.counterDataImageSize = p.counterDataImageSize = h->data_bytes;
    info.rangeIndex = p.rangeIndex = range;
    info.rangeDelimiter = "/";
    p.pHostObject = h->chip.host;
    p.ppMetricNames = planned(h)->metrics;
    p.numMetrics = h->plan->n;
    p.pMetricValues = h->values;
    if (pk_cupti_check(h->c, h->c->cuptiRangeProfilerCounterDataGetRangeInfo(&info), "naming a range", err) ||
        pk_cupti_check(h->c, h->c->cuptiProfilerHostEvaluateToGpuValues(&p), "reading the counts", err))
        return err->code;
    add_range(h, info.rangeName ? info.rangeName : "");
    return PK_OK;
}

static enum pk_code lost(size_t lost_ranges, size_t ranges, struct pk_err *err)
{
    pk_fail(err, PK_E_INTERNAL, "the GPU's counts are not whole");
    pk_why(err, "%zu of %zu ranges were dropped; there is room for %d", lost_ranges, ranges, RANGES_MAX);
    return pk_fix(err, "mark fewer occurrences of regions in an iteration");
}

/* After the last pass: counts of every range of it. */
static enum pk_code decode(struct handle *h, struct pk_err *err)
{
    CUpti_RangeProfiler_DecodeData_Params data = BLOCK(CUpti_RangeProfiler_DecodeData_Params);
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = BLOCK(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    data.pRangeProfilerObject = h->profiler;
    info.pCounterDataImage = h->data;
    info.counterDataImageSize = h->data_bytes;
    for (int s = 0; s < SPANS; s++) {
        h->occurrences[s] = 0;
        memset(h->sums[s], 0, h->plan->n * sizeof *h->sums[s]);
        memset(h->not_a_number[s], 0, h->plan->n * sizeof *h->not_a_number[s]);
    }
    if (pk_cupti_check(h->c, h->c->cuptiRangeProfilerDecodeData(&data), "decoding the counts", err) ||
        pk_cupti_check(h->c, h->c->cuptiRangeProfilerGetCounterDataInfo(&info), "counting the ranges", err))
        return err->code;
    if (data.numOfRangeDropped || info.numTotalRanges != h->pushed)
        return lost(data.numOfRangeDropped ? data.numOfRangeDropped : h->pushed - info.numTotalRanges,
                    h->pushed, err);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < info.numTotalRanges; i++)
        rc = evaluate(h, i, err);
    return rc;
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    struct handle *h = handle;
    CUpti_RangeProfiler_Stop_Params p = BLOCK(CUpti_RangeProfiler_Stop_Params);
    p.pRangeProfilerObject = h->profiler;
    *again = false;
    pop(h);
    if (h->failed.code) {
        *err = h->failed;
        return err->code;
    }
    if (pk_cupti_check(h->c, h->c->cuptiRangeProfilerStop(&p), "ending a pass", err))
        return err->code;
    *again = h->under_way = !p.isAllPassSubmitted;
    return *again ? PK_OK : decode(h, err);
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct handle *h = handle;
    const unsigned span = region < 0 ? WHOLE : (unsigned)region;
    for (size_t e = 0; e < h->plan->n; e++) {
        const bool adds = planned(h)->events[e].adds;
        const double sum = h->sums[span][e];
        out[e] = (struct pk_reading){.absent = !h->occurrences[span] || h->not_a_number[span][e] ||
                                               (!adds && h->occurrences[span] > 1)};
        out[e].is_real = !adds && !out[e].absent;
        if (!out[e].absent && adds)
            out[e].integer = llround(sum);
        else if (!out[e].absent)
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
    .open = open_,
    .start = start,
    .stop = stop,
    .begin = begin,
    .end = end,
    .read = read_,
    .close = close_,
};
