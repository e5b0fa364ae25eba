/* Ranges: the calls of CUPTI's range profiler in their order. */
#include "counter/cuda/ranges.h"

#include "device/device.h"

#include <stdio.h>
#include <string.h>

enum { ROOM_MAX = 256, LABEL_MAX = 48 };

/* The fields say which configuration it is that forbids; CUPTI's codes have the words. */
static enum pk_code supported(const struct pk_ranges *r, struct pk_err *err)
{
    PK_CUPTI_PARAMS(Profiler_DeviceSupported, p);
    p.cuDevice = (CUdevice)r->dev->ordinal;
    p.api = CUPTI_PROFILER_RANGE_PROFILING;
    if (pk_cupti_check(r->c, r->c->cuptiProfilerDeviceSupported(&p), "counting on this GPU", err))
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
            return pk_cupti_check(r->c, fields[i].means, "counting on this GPU", err);
    return pk_cupti_check(r->c, CUPTI_ERROR_NOT_SUPPORTED, "counting on this GPU", err);
}

/* What this GPU lets us count: less than its chip in a MIG instance. */
static enum pk_code availability(const struct pk_ranges *r, CUcontext ctx, struct pk_arena *a,
                                 uint8_t **image, struct pk_err *err)
{
    PK_CUPTI_PARAMS(Profiler_GetCounterAvailability, p);
    p.ctx = ctx;
    if (pk_cupti_check(r->c, r->c->cuptiProfilerGetCounterAvailability(&p), "reading the counters of the GPU",
                       err))
        return err->code;
    p.pCounterAvailabilityImage = *image = pk_alloc(a, p.counterAvailabilityImageSize);
    return pk_cupti_check(r->c, r->c->cuptiProfilerGetCounterAvailability(&p),
                          "reading the counters of the GPU", err);
}

/* Memory for r->room ranges: a new block only where they are more than ever before. */
static enum pk_code make_data(struct pk_ranges *r, struct pk_err *err)
{
    PK_CUPTI_PARAMS(RangeProfiler_GetCounterDataSize, p);
    p.pRangeProfilerObject = r->profiler;
    p.pMetricNames = (const char **)r->config.metrics;
    p.numMetrics = r->config.n;
    p.maxNumOfRanges = r->room;
    p.maxNumRangeTreeNodes = (uint32_t)r->room;
    if (pk_cupti_check(r->c, r->c->cuptiRangeProfilerGetCounterDataSize(&p), "sizing the counts", err))
        return err->code;
    r->data_bytes = p.counterDataSize;
    if (r->data_bytes > r->data_cap) {
        r->data = pk_alloc(r->arena, r->data_bytes);
        r->data_cap = r->data_bytes;
    }
    return PK_OK;
}

static enum pk_code begin(struct pk_ranges *r, const char *const *metrics, size_t n, struct pk_arena *a,
                          struct pk_err *err)
{
    CUcontext ctx;
    uint8_t *available = NULL;
    const char *chip;
    const struct pk_counter_env this_gpu = {.gpu = r->dev->ordinal};
    PK_CUPTI_PARAMS(Profiler_Initialize, init);
    PK_CUPTI_PARAMS(RangeProfiler_Enable, enable);
    if (pk_cupti_context(r->c, &ctx, err) ||
        pk_cupti_check(r->c, r->c->cuptiProfilerInitialize(&init), "starting the profiler", err))
        return err->code;
    r->initialised = true;
    if (supported(r, err) || availability(r, ctx, a, &available, err) ||
        pk_chip_here(&this_gpu, r->c, a, &chip, err) || pk_chip_open(r->c, chip, available, &r->chip, err) ||
        pk_chip_configure(&r->chip, metrics, n, a, &r->config, err))
        return err->code;
    enable.ctx = ctx;
    if (pk_cupti_check(r->c, r->c->cuptiRangeProfilerEnable(&enable), "counting on the GPU", err))
        return err->code;
    r->profiler = enable.pRangeProfilerObject;
    r->enabled = true;
    r->values = pk_new_n(a, double, r->config.n);
    return PK_OK;
}

void pk_ranges_close(struct pk_ranges *r)
{
    PK_CUPTI_PARAMS(RangeProfiler_Disable, disable);
    PK_CUPTI_PARAMS(Profiler_DeInitialize, end);
    disable.pRangeProfilerObject = r->profiler;
    if (r->enabled)
        r->c->cuptiRangeProfilerDisable(&disable);
    pk_chip_close(&r->chip);
    if (r->initialised)
        r->c->cuptiProfilerDeInitialize(&end);
    r->enabled = r->initialised = false;
}

enum pk_code pk_ranges_open(struct pk_ranges *r, const struct pk_cupti *c, struct pk_device *dev,
                            const char *const *metrics, size_t n, struct pk_arena *a, struct pk_err *err)
{
    *r = (struct pk_ranges){.c = c, .dev = dev, .arena = a};
    const enum pk_code rc = begin(r, metrics, n, a, err);
    if (rc)
        pk_ranges_close(r);
    return rc;
}

/* Before the first pass. INVALID_OPERATION is what CUPTI answers to too many ranges, among other things: tried again with fewer. */
static enum pk_code set_up(struct pk_ranges *r, struct pk_err *err)
{
    for (;;) {
        PK_CUPTI_PARAMS(RangeProfiler_CounterDataImage_Initialize, clear);
        PK_CUPTI_PARAMS(RangeProfiler_SetConfig, set);
        clear.pRangeProfilerObject = set.pRangeProfilerObject = r->profiler;
        clear.counterDataSize = set.counterDataImageSize = r->data_bytes;
        clear.pCounterData = set.pCounterDataImage = r->data;
        if (pk_cupti_check(r->c, r->c->cuptiRangeProfilerCounterDataImageInitialize(&clear),
                           "clearing the counts", err))
            return err->code;
        set.configSize = r->config.image_bytes;
        set.pConfig = r->config.image;
        set.range = CUPTI_UserRange;
        set.replayMode = CUPTI_UserReplay;
        set.maxRangesPerPass = r->room;
        set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
        const CUptiResult rc = r->c->cuptiRangeProfilerSetConfig(&set);
        if (rc != CUPTI_ERROR_INVALID_OPERATION || r->room == 1)
            return pk_cupti_check(r->c, rc, "choosing the counters", err);
        r->room /= 2;
        if (make_data(r, err))
            return err->code;
    }
}

enum pk_code pk_ranges_start(struct pk_ranges *r, struct pk_err *err)
{
    PK_CUPTI_PARAMS(RangeProfiler_Start, p);
    p.pRangeProfilerObject = r->profiler;
    r->pushed = 0;
    r->in_range = false;
    if (pk_device_sync(r->dev, err))
        return err->code;
    if (!r->capacity)
        return PK_OK;
    if ((!r->under_way && set_up(r, err)) ||
        pk_cupti_check(r->c, r->c->cuptiRangeProfilerStart(&p), "starting a pass", err))
        return err->code;
    r->under_way = true;
    return PK_OK;
}

enum pk_code pk_ranges_push(struct pk_ranges *r, const char *name, struct pk_err *err)
{
    PK_CUPTI_PARAMS(RangeProfiler_PushRange, p);
    const size_t place = r->pushed++;
    char label[LABEL_MAX];
    if (place < r->first || place >= r->first + r->room)
        return PK_OK;
    snprintf(label, sizeof label, "%zu:%s", place, name);
    p.pRangeProfilerObject = r->profiler;
    p.pRangeName = label;
    r->in_range = true;
    return pk_cupti_check(r->c, r->c->cuptiRangeProfilerPushRange(&p), "beginning a range", err);
}

enum pk_code pk_ranges_pop(struct pk_ranges *r, struct pk_err *err)
{
    PK_CUPTI_PARAMS(RangeProfiler_PopRange, p);
    const bool pushed = r->in_range;
    p.pRangeProfilerObject = r->profiler;
    r->in_range = false;
    const enum pk_code rc = pk_device_sync(r->dev, err);
    return rc || !pushed ? rc
                         : pk_cupti_check(r->c, r->c->cuptiRangeProfilerPopRange(&p), "ending a range", err);
}

static enum pk_code evaluate(struct pk_ranges *r, size_t range, pk_range_fn *fn, void *user,
                             struct pk_err *err)
{
    PK_CUPTI_PARAMS(RangeProfiler_CounterData_GetRangeInfo, info);
    PK_CUPTI_PARAMS(Profiler_Host_EvaluateToGpuValues, p);
    info.pCounterDataImage = p.pCounterDataImage = r->data;
    info.counterDataImageSize = p.counterDataImageSize = r->data_bytes;
    info.rangeIndex = p.rangeIndex = range;
    info.rangeDelimiter = "/";
    p.pHostObject = r->chip.host;
    p.ppMetricNames = (const char **)r->config.metrics;
    p.numMetrics = r->config.n;
    p.pMetricValues = r->values;
    if (pk_cupti_check(r->c, r->c->cuptiRangeProfilerCounterDataGetRangeInfo(&info), "naming a range", err) ||
        pk_cupti_check(r->c, r->c->cuptiProfilerHostEvaluateToGpuValues(&p), "reading the counts", err))
        return err->code;
    const char *name = info.rangeName ? strchr(info.rangeName, ':') : NULL;
    fn(user, name ? name + 1 : "", r->values);
    return PK_OK;
}

/* Those of the iteration that were counted in these passes. */
static enum pk_code decode(struct pk_ranges *r, pk_range_fn *fn, void *user, struct pk_err *err)
{
    PK_CUPTI_PARAMS(RangeProfiler_DecodeData, data);
    PK_CUPTI_PARAMS(RangeProfiler_GetCounterDataInfo, info);
    const size_t left = r->n - r->first, counted = left < r->room ? left : r->room;
    data.pRangeProfilerObject = r->profiler;
    info.pCounterDataImage = r->data;
    info.counterDataImageSize = r->data_bytes;
    if (pk_cupti_check(r->c, r->c->cuptiRangeProfilerDecodeData(&data), "decoding the counts", err) ||
        pk_cupti_check(r->c, r->c->cuptiRangeProfilerGetCounterDataInfo(&info), "counting the ranges", err))
        return err->code;
    if (data.numOfRangeDropped || info.numTotalRanges != counted) {
        pk_fail(err, PK_E_INTERNAL, "the GPU's counts are incomplete");
        pk_why(err, "%zu of %zu ranges were dropped",
               data.numOfRangeDropped ? data.numOfRangeDropped : counted - info.numTotalRanges, counted);
        return pk_fix(err, "mark fewer occurrences of regions in an iteration");
    }
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < info.numTotalRanges; i++)
        rc = evaluate(r, i, fn, user, err);
    return rc;
}

enum pk_code pk_ranges_stop(struct pk_ranges *r, pk_range_fn *fn, void *user, bool *again, struct pk_err *err)
{
    PK_CUPTI_PARAMS(RangeProfiler_Stop, p);
    p.pRangeProfilerObject = r->profiler;
    *again = !r->capacity;
    if (!r->capacity) {
        r->capacity = r->pushed;
        r->room = r->capacity < ROOM_MAX ? r->capacity : ROOM_MAX;
        return make_data(r, err);
    }
    if (pk_cupti_check(r->c, r->c->cuptiRangeProfilerStop(&p), "ending a pass", err))
        return err->code;
    if (r->pushed > r->capacity || (r->n && r->pushed != r->n)) {
        pk_fail(err, PK_E_INTERNAL, "the work differs from one repetition to the next");
        pk_why(err, "one had %zu ranges, another %zu, and counters need equal ones",
               r->n ? r->n : r->capacity, r->pushed);
        return pk_fix(err, "mark the same regions in every iteration");
    }
    r->n = r->pushed;
    *again = r->under_way = !p.isAllPassSubmitted;
    if (*again)
        return PK_OK;
    const enum pk_code rc = decode(r, fn, user, err);
    r->first += r->room;
    *again = !rc && r->first < r->n;
    if (!*again)
        r->first = r->n = 0;
    return rc;
}
