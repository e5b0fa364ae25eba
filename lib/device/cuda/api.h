/* Api: the CUDA runtime as a table of functions, so that everything above it runs in tests without a driver.
 *
 * The table holds the functions of the static runtime (cuda.c): the program starts on any machine and opens the driver at the first
 * call. Tests use another table (tests/unit/device/fake_cuda.h), with streams and events in host memory, which counts calls and fails
 * the n-th. Only lib/device/cuda and lib/ops/cuda name cuda_runtime_api.h. */
#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

/* X(name): every runtime function that perfkit calls. */
#define PK_CUDA_CALLS(X)                                                                                     \
    X(cudaDriverGetVersion)                                                                                  \
    X(cudaRuntimeGetVersion)                                                                                 \
    X(cudaGetDeviceCount)                                                                                    \
    X(cudaSetDevice)                                                                                         \
    X(cudaGetDeviceProperties)                                                                               \
    X(cudaDeviceSynchronize)                                                                                 \
    X(cudaMemGetInfo)                                                                                        \
    X(cudaMalloc)                                                                                            \
    X(cudaFree)                                                                                              \
    X(cudaMallocHost)                                                                                        \
    X(cudaFreeHost)                                                                                          \
    X(cudaMemcpyAsync)                                                                                       \
    X(cudaMemsetAsync)                                                                                       \
    X(cudaStreamCreateWithPriority)                                                                          \
    X(cudaStreamDestroy)                                                                                     \
    X(cudaStreamSynchronize)                                                                                 \
    X(cudaStreamWaitEvent)                                                                                   \
    X(cudaStreamBeginCapture)                                                                                \
    X(cudaStreamEndCapture)                                                                                  \
    X(cudaDeviceGetStreamPriorityRange)                                                                      \
    X(cudaEventCreateWithFlags)                                                                              \
    X(cudaEventDestroy)                                                                                      \
    X(cudaEventRecordWithFlags)                                                                              \
    X(cudaEventSynchronize)                                                                                  \
    X(cudaEventQuery)                                                                                        \
    X(cudaEventElapsedTime)                                                                                  \
    X(cudaLaunchHostFunc)                                                                                    \
    X(cudaGraphInstantiate)                                                                                  \
    X(cudaGraphNodeGetType)                                                                                  \
    X(cudaStreamGetCaptureInfo)                                                                              \
    X(cudaGraphUpload)                                                                                       \
    X(cudaGraphLaunch)                                                                                       \
    X(cudaGraphDestroy)                                                                                      \
    X(cudaGraphExecDestroy)                                                                                  \
    X(cudaProfilerStart)                                                                                     \
    X(cudaProfilerStop)                                                                                      \
    X(cudaGetLastError)                                                                                      \
    X(cudaGetErrorName)                                                                                      \
    X(cudaGetErrorString)

#define PK_CUDA_FIELD(name) __typeof__(&name) name;
struct pk_cuda_api {
    PK_CUDA_CALLS(PK_CUDA_FIELD)
};
#undef PK_CUDA_FIELD

/* The static runtime's. */
extern const struct pk_cuda_api pk_cuda_runtime;
