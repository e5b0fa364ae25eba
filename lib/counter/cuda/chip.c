/* Chip: CUPTI's Host functions, from a chip's name to a configuration and its passes. */
#include "counter/cuda/chip.h"

#include <stdio.h>

enum pk_code pk_chip_open(const struct pk_cupti *c, const char *name, const uint8_t *availability,
                          struct pk_chip_counters *out, struct pk_err *err)
{
    PK_CUPTI_PARAMS(Profiler_Host_Initialize, p);
    char what[96];
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = name;
    p.pCounterAvailabilityImage = availability;
    snprintf(what, sizeof what, "planning counters of chip %.40s", name);
    const enum pk_code rc = pk_cupti_check(c, c->cuptiProfilerHostInitialize(&p), what, err);
    *out = (struct pk_chip_counters){c, name, rc ? NULL : p.pHostObject};
    return rc;
}

void pk_chip_close(struct pk_chip_counters *k)
{
    PK_CUPTI_PARAMS(Profiler_Host_Deinitialize, p);
    p.pHostObject = k->host;
    if (k->host)
        k->cupti->cuptiProfilerHostDeinitialize(&p);
    k->host = NULL;
}

bool pk_chip_has(const struct pk_chip_counters *k, const char *metric, const char **summary)
{
    PK_CUPTI_PARAMS(Profiler_Host_GetMetricProperties, p);
    p.pHostObject = k->host;
    p.pMetricName = metric;
    if (k->cupti->cuptiProfilerHostGetMetricProperties(&p))
        return false;
    if (summary)
        *summary = p.pDescription ? p.pDescription : "";
    return true;
}

enum pk_code pk_chip_configure(const struct pk_chip_counters *k, const char *const *metrics, size_t n,
                               struct pk_arena *a, struct pk_chip_config *out, struct pk_err *err)
{
    const struct pk_cupti *c = k->cupti;
    PK_CUPTI_PARAMS(Profiler_Host_ConfigAddMetrics, add);
    PK_CUPTI_PARAMS(Profiler_Host_GetConfigImageSize, size);
    PK_CUPTI_PARAMS(Profiler_Host_GetConfigImage, image);
    PK_CUPTI_PARAMS(Profiler_Host_GetNumOfPasses, passes);
    *out = (struct pk_chip_config){.metrics = metrics, .n = n};
    add.pHostObject = size.pHostObject = image.pHostObject = k->host;
    add.ppMetricNames = (const char **)metrics;
    add.numMetrics = n;
    if (pk_cupti_check(c, c->cuptiProfilerHostConfigAddMetrics(&add), "counting these metrics together",
                       err) ||
        pk_cupti_check(c, c->cuptiProfilerHostGetConfigImageSize(&size), "sizing their configuration", err))
        return err->code;
    image.configImageSize = passes.configImageSize = out->image_bytes = size.configImageSize;
    image.pConfigImage = passes.pConfigImage = out->image = pk_alloc(a, size.configImageSize);
    if (pk_cupti_check(c, c->cuptiProfilerHostGetConfigImage(&image), "making their configuration", err) ||
        pk_cupti_check(c, c->cuptiProfilerHostGetNumOfPasses(&passes), "counting their passes", err))
        return err->code;
    out->passes = (unsigned)passes.numOfPasses;
    return PK_OK;
}

enum pk_code pk_chip_here(const struct pk_counter_env *env, const struct pk_cupti *c, struct pk_arena *a,
                          const char **name, struct pk_err *err)
{
    PK_CUPTI_PARAMS(Device_GetChipName, p);
    *name = env->chip;
    if (*name)
        return PK_OK;
    p.deviceIndex = env->gpu;
    const enum pk_code rc =
        pk_cupti_check(c, c->cuptiDeviceGetChipName(&p), "asking which chip the GPU is", err);
    if (!rc)
        *name = pk_strdup(a, p.pChipName);
    return rc;
}
