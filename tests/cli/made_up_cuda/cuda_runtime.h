/* A made-up CUDA runtime for perfkit_cuda.h, compiled by a C++ compiler: one GPU of 1 MiB with an L2 cache of 1000 bytes, and one stream.
 *
 * What is launched waits in the stream until the host waits for it; then it happens in order on the GPU's clock: flushing takes 50 us, the
 * kernel that holds launches back (whatever cudaLaunchKernel starts) ends when flags[0] is set, or gives up after a second, and work takes
 * what made_up_work() said. A launch takes the host 10 us, and nothing begins before it was launched. made_up_error makes the stream fail. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __threadfence_system()

typedef enum cudaError {
    cudaSuccess,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNoDevice = 100,
    cudaErrorIllegalAddress = 700
} cudaError_t;
typedef struct made_up_stream *cudaStream_t;
typedef struct made_up_event {
    double us;
} * cudaEvent_t;
struct dim3 {
    unsigned x;
    explicit dim3(unsigned n) : x(n)
    {
    }
};
enum { cudaDevAttrL2CacheSize, cudaStreamNonBlocking, cudaHostAllocMapped };

enum made_up_kind { MADE_UP_WORK, MADE_UP_FLUSH, MADE_UP_HOLD, MADE_UP_EVENT };
struct made_up_op {
    made_up_kind kind;
    double us, launched;
    volatile int *flags;
    cudaEvent_t event;
};
static struct {
    made_up_op ops[64];
    int n, held, flushed, live;
    double gpu_us, host_us;
    size_t bytes;
    cudaError_t broken;
} made_up;
static cudaError_t made_up_error;

static inline void made_up_push(made_up_kind kind, double us, volatile int *flags, cudaEvent_t event)
{
    made_up.host_us += 10;
    made_up.ops[made_up.n++] = {kind, us, made_up.host_us, flags, event};
}
static inline void made_up_work(double us)
{
    made_up_push(MADE_UP_WORK, us, NULL, NULL);
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    for (int i = 0; i < made_up.n; i++) {
        const made_up_op &op = made_up.ops[i];
        if (made_up.gpu_us < op.launched)
            made_up.gpu_us = op.launched;
        made_up.gpu_us += op.us;
        if (op.kind == MADE_UP_HOLD && op.flags[0] && made_up.gpu_us < made_up.host_us)
            made_up.gpu_us = made_up.host_us;
        if (op.kind == MADE_UP_HOLD && !op.flags[0]) {
            made_up.gpu_us += 1e6;
            op.flags[1] = 1;
        }
        if (op.kind == MADE_UP_EVENT)
            op.event->us = made_up.gpu_us;
        made_up.held += op.kind == MADE_UP_HOLD;
        made_up.flushed += op.kind == MADE_UP_FLUSH;
    }
    made_up.n = 0;
    if (made_up.host_us < made_up.gpu_us)
        made_up.host_us = made_up.gpu_us;
    if (made_up_error)
        made_up.broken = made_up_error;
    return made_up.broken;
}
static inline cudaError_t cudaDeviceSynchronize()
{
    return made_up.broken;
}
static inline cudaError_t cudaGetLastError()
{
    return made_up.broken;
}
static inline const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaErrorMemoryAllocation ? "out of memory" : "an illegal memory access was encountered";
}
static inline cudaError_t cudaGetDeviceCount(int *n)
{
    return *n = 1, cudaSuccess;
}
static inline cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int *v, int, int)
{
    return *v = 1000, cudaSuccess;
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, int)
{
    return made_up.live++, *s = (cudaStream_t)malloc(1), cudaSuccess;
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    return made_up.live--, free(s), cudaSuccess;
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return made_up.live++, *e = (cudaEvent_t)malloc(sizeof **e), cudaSuccess;
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    return made_up.live--, free(e), cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t)
{
    return made_up_push(MADE_UP_EVENT, 0, NULL, e), cudaSuccess;
}
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b)
{
    return *ms = (float)((b->us - a->us) / 1000), cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *, int, size_t bytes, cudaStream_t)
{
    if (bytes != 2000)
        abort();
    return made_up_push(MADE_UP_FLUSH, 50, NULL, NULL), cudaSuccess;
}
static inline cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **args, size_t, cudaStream_t)
{
    return made_up_push(MADE_UP_HOLD, 0, *(volatile int **)args[0], NULL), cudaSuccess;
}
static inline cudaError_t cudaMalloc(void **p, size_t bytes)
{
    if (made_up.bytes + bytes > 1 << 20)
        return cudaErrorMemoryAllocation;
    made_up.live++;
    made_up.bytes += bytes;
    size_t *block = (size_t *)malloc(sizeof(size_t) + bytes);
    *block = bytes;
    return *p = block + 1, cudaSuccess;
}
static inline cudaError_t cudaFree(void *p)
{
    size_t *block = (size_t *)p - 1;
    made_up.live--;
    made_up.bytes -= *block;
    return free(block), cudaSuccess;
}
static inline cudaError_t cudaHostAlloc(void **p, size_t bytes, int)
{
    return made_up.live++, *p = calloc(1, bytes), cudaSuccess;
}
static inline cudaError_t cudaFreeHost(void *p)
{
    return made_up.live--, free(p), cudaSuccess;
}
static inline cudaError_t cudaHostGetDevicePointer(void **p, void *host, int)
{
    return *p = host, cudaSuccess;
}
