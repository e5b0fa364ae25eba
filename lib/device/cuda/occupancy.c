/* Occupancy: how much of a kernel a multiprocessor holds at a time, by the calculator that NVIDIA ships as a header. */
#include "device/cuda/parts.h"

#include <limits.h>
#include <stddef.h>

#include <cuda_occupancy.h>

static const char *limit_of(unsigned factors)
{
    return factors & OCC_LIMIT_REGISTERS       ? "registers"
           : factors & OCC_LIMIT_SHARED_MEMORY ? "shared memory"
           : factors & OCC_LIMIT_BARRIERS      ? "barriers"
           : factors & OCC_LIMIT_BLOCKS        ? "blocks"
                                               : "threads";
}

double pk_cuda_occupancy(const struct pk_device *dev, const struct pk_cuda_needs *k, const char **limit)
{
    const struct cudaDeviceProp *p = &pk_cuda_of(dev)->properties;
    const cudaOccDeviceProp gpu = {.computeMajor = p->major,
                                   .computeMinor = p->minor,
                                   .maxThreadsPerBlock = p->maxThreadsPerBlock,
                                   .maxThreadsPerMultiprocessor = p->maxThreadsPerMultiProcessor,
                                   .regsPerBlock = p->regsPerBlock,
                                   .regsPerMultiprocessor = p->regsPerMultiprocessor,
                                   .warpSize = p->warpSize,
                                   .sharedMemPerBlock = p->sharedMemPerBlock,
                                   .sharedMemPerMultiprocessor = p->sharedMemPerMultiprocessor,
                                   .numSms = p->multiProcessorCount,
                                   .sharedMemPerBlockOptin = p->sharedMemPerBlockOptin,
                                   .reservedSharedMemPerBlock = p->reservedSharedMemPerBlock};
    const cudaOccFuncAttributes kernel = {.maxThreadsPerBlock = p->maxThreadsPerBlock,
                                          .numRegs = (int)k->registers,
                                          .sharedSizeBytes = k->static_bytes,
                                          .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                          .maxDynamicSharedSizeBytes = k->dynamic_bytes,
                                          .numBlockBarriers = 1};
    const cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    cudaOccResult found;
    *limit = NULL;
    if (!k->threads || p->warpSize <= 0 ||
        cudaOccMaxActiveBlocksPerMultiprocessor(&found, &gpu, &kernel, &state, (int)k->threads,
                                                k->dynamic_bytes) ||
        !found.activeBlocksPerMultiprocessor)
        return 0;
    const int warps = ((int)k->threads + p->warpSize - 1) / p->warpSize;
    const double share =
        (double)(found.activeBlocksPerMultiprocessor * warps * p->warpSize) / p->maxThreadsPerMultiProcessor;
    if (share < 1)
        *limit = limit_of(found.limitingFactors);
    return share;
}
