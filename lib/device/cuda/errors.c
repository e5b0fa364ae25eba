/* Errors: what the runtime says, in three parts; which errors end the device. */
#include "base/err.h"
#include "device/cuda/parts.h"

#include <stdio.h>
#include <stdlib.h>

/* After these the process has to end. cudaErrorMemoryAllocation and misuse are not among them. */
bool pk_cuda_is_sticky(cudaError_t rc)
{
    switch (rc) {
    /* "the process must be terminated and relaunched": all of which driver_types.h says so, in its order */
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    /* not reported as sticky, but results are lost or unknown */
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

static enum pk_code fail_in_words(const struct pk_cuda *c, cudaError_t rc, const char *what,
                                  struct pk_err *err)
{
    pk_fail(err, PK_E_INTERNAL, "the GPU failed: %s", what);
    pk_why(err, "%s: %s", c->api->cudaGetErrorName(rc), c->api->cudaGetErrorString(rc));
    return pk_fix(err, "run compute-sanitizer with `perfkit run ... --once` to find a wrong access; `perfkit "
                       "doctor` shows the driver");
}

void pk_cuda_remember(struct pk_cuda *c, cudaError_t rc, const char *what)
{
    if (c->sticky)
        return;
    c->sticky = rc;
    snprintf(c->sticky_what, sizeof c->sticky_what, "%s", what);
}

bool pk_cuda_spoils_capture(struct pk_cuda *c, cudaError_t rc)
{
    if (!c->capturing || pk_cuda_is_sticky(rc))
        return false;
    c->api->cudaGetLastError();
    if (!c->capture_rc)
        c->capture_rc = rc;
    return true;
}

enum pk_code pk_cuda_check(struct pk_device *dev, int rc, const char *what, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    if (c->sticky)
        return fail_in_words(c, c->sticky, c->sticky_what, err);
    if (rc == cudaSuccess)
        return PK_OK;
    c->api->cudaGetLastError(); /* what is not sticky is forgotten by the runtime as well */
    if (pk_cuda_is_sticky((cudaError_t)rc))
        pk_cuda_remember(c, (cudaError_t)rc, what);
    return fail_in_words(c, (cudaError_t)rc, what, err);
}

bool pk_cuda_room(struct pk_device *dev, int rc, const char *what)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    if (rc == cudaSuccess)
        return true;
    c->api->cudaGetLastError(); /* or the next launch would be blamed */
    if (rc != cudaErrorMemoryAllocation && !pk_cuda_spoils_capture(c, (cudaError_t)rc))
        pk_cuda_remember(c, (cudaError_t)rc, what);
    return false;
}

/* A driver that is too old answers 0 devices; its version says why. */
const char *pk_cuda_missing(const struct pk_cuda_api *api)
{
    static char text[160];
    int n = 0, driver = 0, runtime = 0;
    const cudaError_t rc = api->cudaGetDeviceCount(&n);
    if (rc == cudaSuccess && n > 0)
        return NULL;
    api->cudaGetLastError();
    if (rc == cudaSuccess || rc == cudaErrorNoDevice) {
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        if (!visible)
            return "the NVIDIA driver sees no GPU";
        snprintf(text, sizeof text,
                 "the NVIDIA driver sees no GPU '%.60s' (CUDA_VISIBLE_DEVICES; nvidia-smi -L lists them)",
                 visible);
        return text;
    }
    api->cudaDriverGetVersion(&driver);
    api->cudaRuntimeGetVersion(&runtime);
    if (!driver)
        return "there is no NVIDIA driver";
    if (rc == cudaErrorInsufficientDriver)
        snprintf(text, sizeof text,
                 "the NVIDIA driver is too old: it supports CUDA %d.%d, perfkit's runtime is %d.%d",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else
        snprintf(text, sizeof text, "the NVIDIA driver cannot be used: %s", api->cudaGetErrorString(rc));
    return text;
}
