/* Fake CUPTI: see the header. */
#include "fake_cupti.h"

#include "../device/fake_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANGE_BYTES = 64 };
static const int64_t WALL_NS = 1763800000000000000; /* of November 2025 */

struct fake_cupti fake_cupti;
struct fake_nvml fake_nvml;

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static int sessions;

void fake_cupti_reset(void)
{
    fake_cupti = (struct fake_cupti){.passes = 1,
                                     .max_ranges = 4,
                                     .value = 100,
                                     .share = 50,
                                     .host_ns = 500,
                                     .ahead_ns = WALL_NS,
                                     .drift_ppm = -30};
    fake_cupti.supported.isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    sessions = 0;
}

static CUptiResult enter(const char *function)
{
    return fake_cupti.fail_in && !strcmp(fake_cupti.fail_in, function) ? fake_cupti.fail_with : CUPTI_SUCCESS;
}
#define ENTER                                                                                                \
    if (enter(__func__))                                                                                     \
    return fake_cupti.fail_with

static CUptiResult result_string(CUptiResult rc, const char **s)
{
    *s = "CUPTI_ERROR_MADE_UP";
    return CUPTI_SUCCESS;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *h, CUpti_CallbackFunc f, void *user)
{
    ENTER;
    fake_cupti.subscribers++;
    *h = (CUpti_SubscriberHandle)&fake_cupti;
    return CUPTI_SUCCESS;
}

static CUptiResult unsubscribe(CUpti_SubscriberHandle h)
{
    fake_cupti.subscribers--;
    return CUPTI_SUCCESS;
}

static CUptiResult finalize(void)
{
    fake_cupti.finalised++;
    return CUPTI_SUCCESS;
}

/* What its clock reads when the host's reads this. */
static uint64_t clock_ns(uint64_t host_ns)
{
    const int64_t drift_ns = llround((double)host_ns * fake_cupti.drift_ppm * 1e-6);
    return host_ns + (uint64_t)(fake_cupti.ahead_ns + drift_ns);
}

static CUptiResult timestamp(uint64_t *ns)
{
    ENTER;
    *ns = clock_ns(fake_cupti.host_ns);
    return CUPTI_SUCCESS;
}

static CUptiResult buffers(CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c)
{
    request = r;
    complete = c;
    return CUPTI_SUCCESS;
}

static CUptiResult enable_kind(CUpti_ActivityKind kind)
{
    ENTER;
    if (fake_cupti.no_overheads && kind == CUPTI_ACTIVITY_KIND_OVERHEAD)
        return CUPTI_ERROR_NOT_SUPPORTED;
    fake_cupti.enabled_kinds++;
    sessions += kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return CUPTI_SUCCESS;
}

static CUptiResult disable_kind(CUpti_ActivityKind kind)
{
    fake_cupti.enabled_kinds--;
    return CUPTI_SUCCESS;
}

static CUptiResult driver_api(CUpti_CallbackId id, uint8_t enable)
{
    fake_cupti.enabled_kinds += enable ? 1 : -1;
    return CUPTI_SUCCESS;
}

/* The script has the host's times. */
static void shift(uint64_t *start, uint64_t *end)
{
    *start = *start ? clock_ns(*start) : 0;
    *end = *end ? clock_ns(*end) : 0;
}

/* What becomes of a record of the script. */
static void spoil(uint8_t *bytes)
{
    CUpti_ActivityKernel10 *k = (void *)bytes;
    CUpti_ActivityMemcpy6 *c = (void *)bytes;
    CUpti_ActivityMemset4 *f = (void *)bytes;
    CUpti_ActivityAPI *call = (void *)bytes;
    CUpti_ActivityOverhead3 *o = (void *)bytes;
    switch ((int)k->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        shift(&k->start, &k->end);
        k->correlationId += sessions > 1 && k->graphId ? 1000 : 0;
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        shift(&c->start, &c->end);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        shift(&f->start, &f->end);
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        shift(&call->start, &call->end);
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        shift(&o->start, &o->end);
        o->overheadData = o->overheadData ? malloc(16) : NULL; /* the client's, each time */
        break;
    default:
        abort();
    }
}

/* What is in the script goes into one buffer of the caller's, which is the last one, so that only force brings it out. */
static void end_running(void)
{
    if (!fake_cupti.running || fake_cuda.host_waits == fake_cupti.running_waits)
        return;
    fake_cupti.records[fake_cupti.n_records] = fake_cupti.running;
    fake_cupti.record_bytes[fake_cupti.n_records++] = fake_cupti.running_bytes;
    fake_cupti.running = NULL;
}

static CUptiResult flush(uint32_t flags)
{
    uint8_t *bytes;
    size_t size, most, at = 0;
    ENTER;
    end_running();
    if (!fake_cupti.n_records || !(flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED))
        return CUPTI_SUCCESS;
    request(&bytes, &size, &most);
    for (size_t i = 0; bytes && i < fake_cupti.n_records; i++) {
        memcpy(bytes + at, fake_cupti.records[i], fake_cupti.record_bytes[i]);
        spoil(bytes + at);
        at += fake_cupti.record_bytes[i];
    }
    if (bytes)
        complete(NULL, 0, bytes, size, at);
    return CUPTI_SUCCESS;
}

/* Records are told apart by where they begin: the script knows how long each is. */
static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **r)
{
    size_t at = 0;
    for (size_t i = 0; i < fake_cupti.n_records; i++) {
        if (*r == NULL || (uint8_t *)*r < buffer + at) {
            *r = (CUpti_Activity *)(buffer + at);
            return CUPTI_SUCCESS;
        }
        at += fake_cupti.record_bytes[i];
    }
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
}

static CUptiResult dropped(CUcontext ctx, uint32_t stream, size_t *n)
{
    *n = fake_cupti.n_records ? fake_cupti.drop_records : 0;
    return CUPTI_SUCCESS;
}

static CUptiResult chip_name(CUpti_Device_GetChipName_Params *p)
{
    ENTER;
    p->pChipName = p->deviceIndex ? "SECOND" : "MADEUP";
    return CUPTI_SUCCESS;
}

static CUptiResult initialize(CUpti_Profiler_Initialize_Params *p)
{
    ENTER;
    return fake_cupti.finalised ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

static CUptiResult deinitialize(CUpti_Profiler_DeInitialize_Params *p)
{
    return CUPTI_SUCCESS;
}

static CUptiResult device_supported(CUpti_Profiler_DeviceSupported_Params *p)
{
    ENTER;
    fake_cupti.device = p->cuDevice;
    *p = fake_cupti.supported;
    return CUPTI_SUCCESS;
}

static CUptiResult availability(CUpti_Profiler_GetCounterAvailability_Params *p)
{
    ENTER;
    p->counterAvailabilityImageSize = 8;
    return CUPTI_SUCCESS;
}

static CUptiResult host_initialize(CUpti_Profiler_Host_Initialize_Params *p)
{
    ENTER;
    fake_cupti.chip = p->pChipName;
    fake_cupti.live_hosts++;
    p->pHostObject = (CUpti_Profiler_Host_Object *)&fake_cupti;
    return CUPTI_SUCCESS;
}

static CUptiResult host_deinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
    fake_cupti.live_hosts--;
    return CUPTI_SUCCESS;
}

static CUptiResult properties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
    p->pDescription = "made up";
    return strstr(p->pMetricName, "nonsense") ? CUPTI_ERROR_INVALID_METRIC_NAME : CUPTI_SUCCESS;
}

static CUptiResult add_metrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
    ENTER;
    fake_cupti.metrics = p->numMetrics;
    return CUPTI_SUCCESS;
}

static CUptiResult image_size(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
    p->configImageSize = 16;
    return CUPTI_SUCCESS;
}

static CUptiResult image(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
    return CUPTI_SUCCESS;
}

static CUptiResult passes(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
    p->numOfPasses = fake_cupti.passes;
    return CUPTI_SUCCESS;
}

static CUptiResult evaluate(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    const int pushed = atoi(fake_cupti.ranges[p->rangeIndex]);
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] =
            strstr(p->ppMetricNames[i], "pct") ? fake_cupti.share : fake_cupti.value * (pushed + 1);
    return CUPTI_SUCCESS;
}

static CUptiResult profiler_enable(CUpti_RangeProfiler_Enable_Params *p)
{
    ENTER;
    if (!p->ctx)
        abort(); /* as the real one crashes */
    fake_cupti.live_profilers++;
    p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)&fake_cupti;
    return CUPTI_SUCCESS;
}

static CUptiResult profiler_disable(CUpti_RangeProfiler_Disable_Params *p)
{
    fake_cupti.live_profilers--;
    return CUPTI_SUCCESS;
}

static CUptiResult data_size(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
    p->counterDataSize = RANGE_BYTES * p->maxNumOfRanges;
    return CUPTI_SUCCESS;
}

static CUptiResult data_initialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
    memset(p->pCounterData, 0, p->counterDataSize);
    fake_cupti.sized_for = p->counterDataSize / RANGE_BYTES;
    return CUPTI_SUCCESS;
}

static CUptiResult set_config(CUpti_RangeProfiler_SetConfig_Params *p)
{
    ENTER;
    fake_cupti.pass = 0;
    return p->maxRangesPerPass > fake_cupti.max_ranges ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}

static CUptiResult start(CUpti_RangeProfiler_Start_Params *p)
{
    ENTER;
    fake_cupti.n_ranges = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult stop(CUpti_RangeProfiler_Stop_Params *p)
{
    p->isAllPassSubmitted = ++fake_cupti.pass == fake_cupti.passes;
    return CUPTI_SUCCESS;
}

static CUptiResult push(CUpti_RangeProfiler_PushRange_Params *p)
{
    ENTER;
    if (fake_cupti.range_is_open)
        return CUPTI_ERROR_INVALID_OPERATION; /* one nesting level */
    fake_cupti.range_is_open = true;
    fake_cupti.pushes++;
    for (size_t i = 0; i < fake_cupti.n_ranges; i++)
        if (!strcmp(fake_cupti.ranges[i], p->pRangeName))
            return CUPTI_SUCCESS; /* merged */
    if (fake_cupti.n_ranges < FAKE_RANGES)
        snprintf(fake_cupti.ranges[fake_cupti.n_ranges++], sizeof fake_cupti.ranges[0], "%s", p->pRangeName);
    return CUPTI_SUCCESS;
}

static CUptiResult pop(CUpti_RangeProfiler_PopRange_Params *p)
{
    ENTER;
    const bool was_open = fake_cupti.range_is_open;
    fake_cupti.range_is_open = false;
    return was_open ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

static CUptiResult decode(CUpti_RangeProfiler_DecodeData_Params *p)
{
    ENTER;
    p->numOfRangeDropped = fake_cupti.drop_ranges;
    return CUPTI_SUCCESS;
}

static CUptiResult data_info(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
    p->numTotalRanges = fake_cupti.n_ranges - fake_cupti.drop_ranges;
    return CUPTI_SUCCESS;
}

static CUptiResult range_info(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *p)
{
    p->rangeName = fake_cupti.ranges[p->rangeIndex];
    return CUPTI_SUCCESS;
}

static CUresult context(CUcontext *ctx)
{
    *ctx = fake_cupti.no_context ? NULL : (CUcontext)&fake_cupti;
    return CUDA_SUCCESS;
}

const struct pk_cupti fake_cupti_table = {
    .cuptiGetResultString = result_string,
    .cuptiSubscribe = subscribe,
    .cuptiUnsubscribe = unsubscribe,
    .cuptiFinalize = finalize,
    .cuptiGetTimestamp = timestamp,
    .cuptiActivityRegisterCallbacks = buffers,
    .cuptiActivityEnable = enable_kind,
    .cuptiActivityDisable = disable_kind,
    .cuptiActivityEnableDriverApi = driver_api,
    .cuptiActivityFlushAll = flush,
    .cuptiActivityGetNextRecord = next_record,
    .cuptiActivityGetNumDroppedRecords = dropped,
    .cuptiDeviceGetChipName = chip_name,
    .cuptiProfilerInitialize = initialize,
    .cuptiProfilerDeInitialize = deinitialize,
    .cuptiProfilerDeviceSupported = device_supported,
    .cuptiProfilerGetCounterAvailability = availability,
    .cuptiProfilerHostInitialize = host_initialize,
    .cuptiProfilerHostDeinitialize = host_deinitialize,
    .cuptiProfilerHostGetMetricProperties = properties,
    .cuptiProfilerHostConfigAddMetrics = add_metrics,
    .cuptiProfilerHostGetConfigImageSize = image_size,
    .cuptiProfilerHostGetConfigImage = image,
    .cuptiProfilerHostGetNumOfPasses = passes,
    .cuptiProfilerHostEvaluateToGpuValues = evaluate,
    .cuptiRangeProfilerEnable = profiler_enable,
    .cuptiRangeProfilerDisable = profiler_disable,
    .cuptiRangeProfilerGetCounterDataSize = data_size,
    .cuptiRangeProfilerCounterDataImageInitialize = data_initialize,
    .cuptiRangeProfilerSetConfig = set_config,
    .cuptiRangeProfilerStart = start,
    .cuptiRangeProfilerStop = stop,
    .cuptiRangeProfilerPushRange = push,
    .cuptiRangeProfilerPopRange = pop,
    .cuptiRangeProfilerDecodeData = decode,
    .cuptiRangeProfilerGetCounterDataInfo = data_info,
    .cuptiRangeProfilerCounterDataGetRangeInfo = range_info,
    .cuCtxGetCurrent = context,
    .version = "13.0.1",
};

static int nvml_init(unsigned flags)
{
    fake_nvml.live += !fake_nvml.init_rc;
    return fake_nvml.init_rc;
}

static int nvml_shutdown(void)
{
    fake_nvml.live--;
    return 0;
}

static const char *nvml_error(int rc)
{
    return "Made-up Error";
}

static int nvml_driver(char *text, unsigned bytes)
{
    snprintf(text, bytes, "580.65");
    return 0;
}

static int nvml_count(unsigned *n)
{
    *n = fake_nvml.gpus;
    return 0;
}

static char *gpu_0;

static unsigned ordinal(pk_nvml_device d)
{
    return (unsigned)((char *)d - gpu_0);
}

static int nvml_by_index(unsigned i, pk_nvml_device *d)
{
    static char handles[8];
    *d = (pk_nvml_device)&handles[i % 8];
    gpu_0 = handles;
    return i < fake_nvml.gpus ? 0 : 2;
}

static int nvml_by_pci(const char *id, pk_nvml_device *d)
{
    snprintf(fake_nvml.asked_pci, sizeof fake_nvml.asked_pci, "%s", id);
    return nvml_by_index(0, d);
}

static int nvml_power(pk_nvml_device d, unsigned *milliwatts)
{
    *milliwatts = 412000;
    fake_nvml.powers++;
    return fake_nvml.no_power ? PK_NVML_NOT_SUPPORTED : 0;
}

static int nvml_energy(pk_nvml_device d, unsigned long long *millijoules)
{
    *millijoules = fake_nvml.millijoules;
    return 0;
}

static int nvml_temperature(pk_nvml_device d, int sensor, unsigned *celsius)
{
    *celsius = 61;
    return 0;
}

static int nvml_clock(pk_nvml_device d, int which, unsigned *mhz)
{
    *mhz = which == PK_NVML_CLOCK_SM ? 1980 : 3201;
    return 0;
}

static int nvml_reasons(pk_nvml_device d, unsigned long long *bits)
{
    *bits = fake_nvml.held_back;
    return 0;
}

static int nvml_processes(pk_nvml_device d, unsigned *n, struct pk_nvml_process *v)
{
    const unsigned beyond = fake_nvml.ids_of_the_host ? 1 << 30 : 0; /* Linux has fewer than 2^22 */
    unsigned k = 0;
    v[k++].pid = (unsigned)getpid() + beyond;
    for (unsigned i = 0; i < fake_nvml.others; i++)
        v[k++].pid = 1 + beyond;
    if (fake_nvml.peer)
        v[k++].pid = (unsigned)fake_nvml.peer + beyond;
    *n = k;
    return fake_nvml.processes_rc;
}

static int nvml_fields(pk_nvml_device d, int n, struct pk_nvml_field *v)
{
    for (int i = 0; i < n; i++) {
        v[i].rc = v[i].id == PK_NVML_HELD_POWER ? 0 : PK_NVML_NOT_SUPPORTED;
        v[i].type = PK_NVML_U64_LONG;
        v[i].value.u64_long = fake_nvml.held_ns;
    }
    return 0;
}

static int nvml_pci(pk_nvml_device d, struct pk_nvml_pci *pci)
{
    snprintf(pci->id, sizeof pci->id, "00000000:%02X:00.0", 0x3b + ordinal(d));
    return fake_nvml.old_driver ? PK_NVML_NOT_SUPPORTED : 0;
}

static bool joined(pk_nvml_device d)
{
    return ordinal(d) < fake_nvml.joined;
}

static int nvml_p2p(pk_nvml_device a, pk_nvml_device b, int capability, int *status)
{
    const bool by_nvlink = joined(a) && joined(b);
    *status = by_nvlink ? 0 : capability == PK_NVML_P2P_NVLINK ? 5 : fake_nvml.p2p_status;
    return fake_nvml.old_driver ? PK_NVML_NOT_SUPPORTED : 0;
}

static int nvml_ancestor(pk_nvml_device a, pk_nvml_device b, int *level)
{
    *level = ordinal(a) / 2 == ordinal(b) / 2 ? 10 : 50;
    return fake_nvml.old_driver ? PK_NVML_NOT_SUPPORTED : 0;
}

static int nvml_nvlink(pk_nvml_device d, unsigned link, int *active)
{
    *active = joined(d) && link < 4;
    return fake_nvml.old_driver ? PK_NVML_NOT_SUPPORTED : link < 6 ? 0 : 2;
}

static int gpm_support(pk_nvml_device d, struct pk_nvml_gpm_support *s)
{
    s->supported = s->version == 1 && !fake_nvml.no_gpm;
    return fake_nvml.old_driver ? PK_NVML_NOT_SUPPORTED : 0;
}

static int gpm_alloc(struct pk_nvml_gpm_sample *s)
{
    fake_nvml.gpm_live++;
    s->p = calloc(1, sizeof(int));
    return 0;
}

static int gpm_free(struct pk_nvml_gpm_sample s)
{
    fake_nvml.gpm_live--;
    free(s.p);
    return 0;
}

/* A sample is when it was taken. */
static int gpm_sample(pk_nvml_device d, struct pk_nvml_gpm_sample s)
{
    *(int *)s.p = ++fake_nvml.gpm_samples;
    return 0;
}

/* Of two samples of which the first is the older one. */
static int gpm_metrics(struct pk_nvml_gpm_metrics *g)
{
    if (g->version != 1 || *(int *)g->before.p >= *(int *)g->now.p)
        return 2;
    for (unsigned i = 0; i < g->n; i++) {
        g->v[i].rc = g->v[i].id == 5 ? PK_NVML_NOT_SUPPORTED : 0; /* no tensor cores are told of */
        g->v[i].value = fake_nvml.busy + i;
    }
    return 0;
}

const struct pk_nvml fake_nvml_table = {
    .init = nvml_init,
    .shutdown = nvml_shutdown,
    .error = nvml_error,
    .driver_version = nvml_driver,
    .count = nvml_count,
    .by_index = nvml_by_index,
    .by_pci = nvml_by_pci,
    .power = nvml_power,
    .energy = nvml_energy,
    .temperature = nvml_temperature,
    .clock = nvml_clock,
    .reasons = nvml_reasons,
    .processes = nvml_processes,
    .fields = nvml_fields,
    .pci = nvml_pci,
    .p2p = nvml_p2p,
    .ancestor = nvml_ancestor,
    .nvlink = nvml_nvlink,
    .gpm_support = gpm_support,
    .gpm_alloc = gpm_alloc,
    .gpm_free = gpm_free,
    .gpm_sample = gpm_sample,
    .gpm_metrics = gpm_metrics,
};
