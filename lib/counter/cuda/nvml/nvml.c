/* Nvml: the library of this machine. */
#include "counter/cuda/nvml/nvml.h"

#include "counter/sources.h"
#include "device/cuda/cuda.h"
#include "device/cuda/library.h"

#include <dlfcn.h>

static enum pk_code check(const struct pk_nvml *m, int rc, const char *what, struct pk_err *err)
{
    if (rc == PK_NVML_OK)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "%s does not work here", what);
    err->number = rc;
    pk_why(err, "NVML: %s (%d)", m->error(rc), rc);
    return pk_fix(err, rc == PK_NVML_NO_PERMISSION
                           ? "run as root, or ask the administrator to allow it"
                           : "nvidia-smi shows whether the driver works; in a container: --gpus all");
}

enum pk_code pk_nvml_open(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_nvml **out,
                          struct pk_err *err)
{
    struct pk_library l;
    struct pk_nvml *m = pk_new(a, struct pk_nvml);
#define SYMBOL(field, name)                                                                                  \
    {                                                                                                        \
        name, (void (**)(void)) & m->field                                                                   \
    }
    const struct pk_symbol symbols[] = {
        SYMBOL(init, "nvmlInitWithFlags"),
        SYMBOL(shutdown, "nvmlShutdown"),
        SYMBOL(error, "nvmlErrorString"),
        SYMBOL(driver_version, "nvmlSystemGetDriverVersion"),
        SYMBOL(count, "nvmlDeviceGetCount_v2"),
        SYMBOL(by_index, "nvmlDeviceGetHandleByIndex_v2"),
        SYMBOL(by_pci, "nvmlDeviceGetHandleByPciBusId_v2"),
        SYMBOL(power, "nvmlDeviceGetPowerUsage"),
        SYMBOL(energy, "nvmlDeviceGetTotalEnergyConsumption"),
        SYMBOL(temperature, "nvmlDeviceGetTemperature"),
        SYMBOL(clock, "nvmlDeviceGetClockInfo"),
        SYMBOL(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"), /* every driver's name of it */
        SYMBOL(processes, "nvmlDeviceGetComputeRunningProcesses_v3"),
        {0}};
#undef SYMBOL
#define OPTIONAL(field, name) m->field = (__typeof__(m->field))dlsym(l.handle, name)
    *out = env->nvml ? env->nvml : m;
    if (!env->nvml) {
        if (pk_library_open(PK_LIB_NVML, symbols, a, &l, err))
            return pk_fix(err, "install the NVIDIA driver, which contains it; in a container: --gpus all");
        OPTIONAL(fields, "nvmlDeviceGetFieldValues");
        OPTIONAL(pci, "nvmlDeviceGetPciInfo_v3");
        OPTIONAL(p2p, "nvmlDeviceGetP2PStatus");
        OPTIONAL(ancestor, "nvmlDeviceGetTopologyCommonAncestor");
        OPTIONAL(nvlink, "nvmlDeviceGetNvLinkState");
        OPTIONAL(gpm_support, "nvmlGpmQueryDeviceSupport");
        OPTIONAL(gpm_alloc, "nvmlGpmSampleAlloc");
        OPTIONAL(gpm_free, "nvmlGpmSampleFree");
        OPTIONAL(gpm_sample, "nvmlGpmSampleGet");
        OPTIONAL(gpm_metrics, "nvmlGpmMetricsGet");
    }
#undef OPTIONAL
    return check(*out, (*out)->init(0), "asking the NVIDIA driver", err);
}

bool pk_nvml_has_gpm(const struct pk_nvml *m, pk_nvml_device d)
{
    struct pk_nvml_gpm_support s = {.version = 1};
    return m->gpm_support && m->gpm_alloc && m->gpm_free && m->gpm_sample && m->gpm_metrics &&
           !m->gpm_support(d, &s) && s.supported;
}

void pk_nvml_close(const struct pk_nvml *m)
{
    m->shutdown();
}

enum pk_code pk_nvml_plan(const struct pk_source *s, const struct pk_counter_env *env,
                          const char *const *names, size_t n, struct pk_arena *a,
                          const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    const struct pk_nvml *m;
    if (pk_source_plan_table(s, env, names, n, a, plans, n_plans, err) || pk_nvml_open(env, a, &m, err))
        return err->code;
    pk_nvml_close(m);
    return PK_OK;
}

enum pk_code pk_nvml_device_of(const struct pk_nvml *m, struct pk_device *dev, pk_nvml_device *out,
                               struct pk_err *err)
{
    return check(m, m->by_pci(pk_cuda_traits(dev)->pci_id, out), "finding the GPU by its PCI id", err);
}
