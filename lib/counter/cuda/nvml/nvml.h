/* Nvml: the NVIDIA driver's management library as a table of functions, opened at run time; tests put their own in pk_counter_env.
 *
 * Its header is not in the CUDA Toolkit, so the few functions in use are declared here after the public interface, which has been stable
 * since version 1. An open device is found by its PCI id, never by index: CUDA_VISIBLE_DEVICES reorders CUDA's. */
#pragma once

#include "counter/source.h"

typedef struct nvmlDevice_st *pk_nvml_device;

enum { PK_NVML_OK = 0, PK_NVML_NOT_SUPPORTED = 3, PK_NVML_NO_PERMISSION = 4, PK_NVML_INSUFFICIENT_SIZE = 7 };
enum { PK_NVML_CLOCK_SM = 1, PK_NVML_CLOCK_MEM = 2, PK_NVML_NO_GPUS = 1, PK_NVML_TEMPERATURE_GPU = 0 };

struct pk_nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

/* nvmlFieldValue_t of one field of the whole device. */
struct pk_nvml_field {
    unsigned id, scope;
    long long timestamp_us, latency_us;
    int type, rc; /* of the value: PK_NVML_U64 and others */
    union {
        double real;
        unsigned u32;
        unsigned long u64;
        unsigned long long u64_long;
        long long i64;
    } value;
};
enum { PK_NVML_U32 = 1, PK_NVML_U64 = 2, PK_NVML_U64_LONG = 3 };
/* NVML_FI_DEV_PERF_POLICY_POWER, _THERMAL, and NVML_FI_DEV_CLOCKS_EVENT_REASON_*: nanoseconds since the driver was loaded. */
enum {
    PK_NVML_HELD_POWER = 74,
    PK_NVML_HELD_THERMAL = 75,
    PK_NVML_HELD_SW_THERMAL = 269,
    PK_NVML_HELD_HW_THERMAL = 270,
    PK_NVML_HELD_POWER_BRAKE = 271
};

/* nvmlPciInfo_t. */
struct pk_nvml_pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32]; /* "00000000:3B:00.0" */
};
enum { PK_NVML_P2P_READ = 0, PK_NVML_P2P_WRITE = 1, PK_NVML_P2P_NVLINK = 2 }; /* nvmlGpuP2PCapsIndex_t */

enum { PK_NVML_POWER_INSTANT = 186 }; /* NVML_FI_DEV_POWER_INSTANT: milliwatts */

/* nvmlGpmSample_t, and nvmlGpmMetricsGet_t of version 1 with the most metrics that a driver knows so far. */
struct pk_nvml_gpm_sample {
    void *p;
};
enum { PK_NVML_GPM_METRICS_MAX = 333 };
struct pk_nvml_gpm_metrics {
    unsigned version, n;
    struct pk_nvml_gpm_sample before, now;
    struct {
        unsigned id;
        int rc;
        double value;
        char *short_name, *long_name, *unit;
    } v[PK_NVML_GPM_METRICS_MAX];
};
struct pk_nvml_gpm_support {
    unsigned version, supported; /* version 1 */
};

struct pk_nvml {
    int (*init)(unsigned flags); /* nvmlInitWithFlags: NO_GPUS: a driver without GPUs is not an error */
    int (*shutdown)(void);
    const char *(*error)(int rc);
    int (*driver_version)(char *text, unsigned bytes);
    int (*count)(unsigned *n);
    int (*by_index)(unsigned i, pk_nvml_device *d);
    int (*by_pci)(const char *id, pk_nvml_device *d); /* "00000000:3B:00.0" */
    int (*power)(pk_nvml_device d, unsigned *milliwatts);
    int (*energy)(pk_nvml_device d, unsigned long long *millijoules); /* since the driver was loaded */
    int (*temperature)(pk_nvml_device d, int sensor, unsigned *celsius);
    int (*clock)(pk_nvml_device d, int which, unsigned *mhz);
    int (*reasons)(pk_nvml_device d, unsigned long long *bits);
    int (*processes)(pk_nvml_device d, unsigned *n, struct pk_nvml_process *v);
    int (*fields)(pk_nvml_device d, int n, struct pk_nvml_field *v); /* NULL if the driver does not have it */
    int (*pci)(pk_nvml_device d, struct pk_nvml_pci *pci);           /* likewise, and those below */
    int (*p2p)(pk_nvml_device a, pk_nvml_device b, int capability, int *status); /* status 0 = ok */
    int (*ancestor)(pk_nvml_device a, pk_nvml_device b, int *level);             /* nvmlGpuTopologyLevel_t */
    int (*nvlink)(pk_nvml_device d, unsigned link, int *active); /* an error for a link that there is not */
    int (*gpm_support)(pk_nvml_device d, struct pk_nvml_gpm_support *s);
    int (*gpm_alloc)(struct pk_nvml_gpm_sample *s);
    int (*gpm_free)(struct pk_nvml_gpm_sample s);
    int (*gpm_sample)(pk_nvml_device d, struct pk_nvml_gpm_sample s);
    int (*gpm_metrics)(struct pk_nvml_gpm_metrics *g);
};

/* Opens env->nvml or the library of this machine, and initialises it; in the arena. Close with pk_nvml_close. PK_E_UNAVAILABLE. */
enum pk_code pk_nvml_open(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_nvml **out,
                          struct pk_err *err) PK_MUST_CHECK;
void pk_nvml_close(const struct pk_nvml *m);
/* The hook `plan` of sources that need it: pk_source_plan_table where NVML can be opened. */
enum pk_code pk_nvml_plan(const struct pk_source *s, const struct pk_counter_env *env,
                          const char *const *names, size_t n, struct pk_arena *a,
                          const struct pk_source_plan **plans, size_t *n_plans,
                          struct pk_err *err) PK_MUST_CHECK;
/* The handle of the open device, by its PCI id. */
enum pk_code pk_nvml_device_of(const struct pk_nvml *m, struct pk_device *dev, pk_nvml_device *out,
                               struct pk_err *err) PK_MUST_CHECK;
/* True when the driver has GPM and the GPU too. */
bool pk_nvml_has_gpm(const struct pk_nvml *m, pk_nvml_device d);
/* "; NUMA node by GPU: 0 1; active NVLinks: 18 18; GPU 0-1: NVLink, P2P": of all GPUs of the machine, in NVML's order. In the arena. */
const char *pk_gpu_topology(const struct pk_counter_env *env, const struct pk_nvml *m, struct pk_arena *a);
