/* Refusals: what CUPTI's error codes mean to somebody who wants counters, and what helps. */
#include "counter/cuda/cupti.h"

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
    enum pk_code code;
    const char *why, *fix;
} refusals[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, PK_E_UNAVAILABLE,
     "the driver lets only administrators read counters (RmProfilingAdminOnly: 1 in "
     "/proc/driver/nvidia/params)",
     ADMIN},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, PK_E_UNAVAILABLE,
     "another profiler is active in this process, and CUPTI allows one", OTHERS},
    {CUPTI_ERROR_HARDWARE_BUSY, PK_E_UNAVAILABLE, "another profiler or DCGM is using the GPU's counters",
     DCGM},
    {CUPTI_ERROR_INVALID_OPERATION, PK_E_UNAVAILABLE,
     "the profiler is in use in another way, most likely by another profiler, or the iteration has more "
     "ranges "
     "than it takes",
     OTHERS "; or mark fewer regions in an iteration"},
    {CUPTI_ERROR_NOT_INITIALIZED, PK_E_UNAVAILABLE, "the driver is too old for this CUPTI, or there is none",
     "update the NVIDIA driver, or name the CUPTI of its CUDA version: PERFKIT_CUDA_LIBS=FOLDER"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, PK_E_UNAVAILABLE,
     "the GPU is a virtual one (vGPU) whose host does not let it be profiled", HYPERVISOR},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, PK_E_UNAVAILABLE,
     "the GPU is a virtual one (vGPU) without the permission to be profiled", HYPERVISOR},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, PK_E_UNAVAILABLE,
     "the GPU is in confidential computing mode, which hides counters", FINAL},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, PK_E_UNAVAILABLE,
     "the GPU is a mining processor (CMP), which has no counters", FINAL},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, PK_E_UNAVAILABLE,
     "the GPU is a MIG instance that cannot be profiled",
     "use a separate compute instance, or the whole GPU: sudo nvidia-smi -mig 0"},
    {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, PK_E_UNAVAILABLE, "the GPU is in SLI mode, which hides counters",
     "switch SLI off"},
    {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, PK_E_UNAVAILABLE,
     "this is the Windows Subsystem for Linux, whose driver hides counters", FINAL},
    {CUPTI_ERROR_INVALID_CHIP_NAME, PK_E_UNAVAILABLE, "this CUPTI does not know the chip",
     "use a newer CUPTI: PERFKIT_CUDA_LIBS=FOLDER"},
    {CUPTI_ERROR_NOT_SUPPORTED, PK_E_UNAVAILABLE, "this GPU or driver does not support it", FINAL},
    {CUPTI_ERROR_OUT_OF_MEMORY, PK_E_UNAVAILABLE, "there is no memory for it on the GPU",
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
            pk_fail(err, refusals[i].code, "%s does not work here", what);
            err->number = (int)rc;
            pk_why(err, "%s: %s (%d)", refusals[i].why, name, rc);
            return pk_fix(err, "%s", refusals[i].fix);
        }
    pk_fail(err, PK_E_INTERNAL, "%s failed", what);
    err->number = (int)rc;
    pk_why(err, "%s (%d)", name, rc);
    return pk_fix(err, "perfkit doctor shows which library is in use; times are still measured");
}
