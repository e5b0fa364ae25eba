/* Cupti: opens the library of this machine, tests whether it can be used, and translates its error codes to reasons and fixes. */
#include "counter/cuda/cupti.h"

#include "base/file.h"
#include "device/cuda/library.h"
#include "device/device.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

enum pk_code pk_cupti_open(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_cupti **out,
                           struct pk_err *err)
{
    struct pk_library l;
    struct pk_cupti *c = pk_new(a, struct pk_cupti);
#define SYMBOL(name) {#name, (void (**)(void)) & c->name},
    const struct pk_symbol symbols[] = {PK_CUPTI_CALLS(SYMBOL){0}};
#undef SYMBOL
    *out = env->cupti ? env->cupti : c;
    if (env->cupti)
        return PK_OK;
    if (pk_library_open(PK_LIB_CUPTI, symbols, a, &l, err))
        return err->code;
    c->path = l.path;
    c->version = l.version;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW); /* stays open: the driver is never unloaded */
    if (driver)
        c->cuCtxGetCurrent = (__typeof__(c->cuCtxGetCurrent))dlsym(driver, "cuCtxGetCurrent");
    return PK_OK;
}

/* The driver's own word on who may read counters; false where it says nothing. */
static bool admin_only(const struct pk_counter_env *env, struct pk_arena *a)
{
    const char *text = pk_file_text(pk_counter_root(env), "proc/driver/nvidia/params", a);
    const char *value = text ? pk_file_field(text, "RmProfilingAdminOnly", ':', a) : NULL;
    return value && !strcmp(value, "1");
}

enum pk_code pk_cupti_possible(const struct pk_counter_env *env, bool counters, struct pk_arena *a,
                               const struct pk_cupti **out, struct pk_err *err)
{
    const char *missing = pk_device_unavailable(PK_DEVICE_CUDA);
    if (missing) {
        pk_fail(err, PK_E_UNAVAILABLE, "there is no GPU to profile");
        pk_why(err, "%s", missing);
        return pk_fix(err, "install the NVIDIA driver; in a container: --gpus all");
    }
    if (pk_cupti_open(env, a, out, err))
        return err->code;
    if (!counters || geteuid() == 0 || !admin_only(env, a))
        return PK_OK;
    return pk_cupti_check(*out, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "counting on the GPU", err);
}

enum pk_code pk_cupti_context(const struct pk_cupti *c, CUcontext *ctx, struct pk_err *err)
{
    *ctx = NULL;
    if (c->cuCtxGetCurrent && c->cuCtxGetCurrent(ctx) == CUDA_SUCCESS && *ctx)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "the GPU cannot be profiled");
    pk_why(err, "this thread has no CUDA context");
    return pk_fix(err, "open the device first");
}

/* --- refusals --------------------------------------------------------------------------------------------------------- */

#define FINAL "it cannot be enabled on this machine; times are still measured"
#define ADMIN                                                                                                \
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee "                                \
    "/etc/modprobe.d/perfkit-nvidia.conf && sudo update-initramfs -u && sudo reboot (RPM systems: sudo "     \
    "dracut -f); or run with CAP_SYS_ADMIN, in a container with --cap-add=SYS_ADMIN"
#define OTHERS                                                                                               \
    "end nsys, ncu, cuda-gdb, compute-sanitizer or the framework's profiler; unset CUDA_INJECTION64_PATH"
#define DCGM                                                                                                 \
    "end nsys, ncu or the framework's profiler; where DCGM watches: dcgmi profile --pause, afterwards "      \
    "dcgmi profile --resume"
#define HYPERVISOR "ask the hypervisor's administrator to enable profiling for this vGPU"

static const struct refusal {
    CUptiResult rc;
    const char *why, *fix;
} refusals[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
     "the driver lets only administrators read counters (RmProfilingAdminOnly: 1 in "
     "/proc/driver/nvidia/params)",
     ADMIN},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "another profiler is active in this process, and CUPTI allows one", OTHERS},
    {CUPTI_ERROR_HARDWARE_BUSY, "another profiler or DCGM is using the GPU's counters", DCGM},
    {CUPTI_ERROR_INVALID_OPERATION,
     "the profiler is in use in another way, most likely by another profiler, or the iteration has more "
     "ranges "
     "than it takes",
     OTHERS "; or mark fewer regions in an iteration"},
    {CUPTI_ERROR_NOT_INITIALIZED, "the driver is too old for this CUPTI, or there is none",
     "update the NVIDIA driver, or name the CUPTI of its CUDA version: PERFKIT_CUDA_LIBS=FOLDER"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
     "the GPU is a virtual one (vGPU) whose host does not let it be profiled", HYPERVISOR},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
     "the GPU is a virtual one (vGPU) without the permission to be profiled", HYPERVISOR},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
     "the GPU is in confidential computing mode, which hides counters", FINAL},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "the GPU is a mining processor (CMP), which has no counters",
     FINAL},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "the GPU is a MIG instance that cannot be profiled",
     "use a separate compute instance, or the whole GPU: sudo nvidia-smi -mig 0"},
    {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, "the GPU is in SLI mode, which hides counters", "switch SLI off"},
    {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED,
     "this is the Windows Subsystem for Linux, whose driver hides counters", FINAL},
    {CUPTI_ERROR_INVALID_CHIP_NAME, "this CUPTI does not know the chip",
     "use a newer CUPTI: PERFKIT_CUDA_LIBS=FOLDER"},
    {CUPTI_ERROR_NOT_SUPPORTED, "this GPU or driver does not support it", FINAL},
    {CUPTI_ERROR_OUT_OF_MEMORY, "there is no memory for it on the GPU",
     "choose smaller sizes: counting needs memory in addition to the pool"},
};

enum pk_code pk_cupti_check(const struct pk_cupti *c, CUptiResult rc, const char *what, struct pk_err *err)
{
    const char *name = NULL;
    if (rc == CUPTI_SUCCESS)
        return PK_OK;
    if (!c->cuptiGetResultString || c->cuptiGetResultString(rc, &name) || !name)
        name = "CUPTI's error";
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].rc == rc) {
            pk_fail(err, PK_E_UNAVAILABLE, "%s does not work here", what);
            err->number = (int)rc;
            pk_why(err, "%s: %s (%d)", refusals[i].why, name, rc);
            return pk_fix(err, "%s", refusals[i].fix);
        }
    pk_fail(err, PK_E_INTERNAL, "%s failed", what);
    err->number = (int)rc;
    pk_why(err, "%s (%d)", name, rc);
    return pk_fix(err, "perfkit doctor shows which library is in use; times are still measured");
}
