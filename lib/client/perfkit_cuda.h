/* perfkit's client for .cu files: perfkit.h with times of a CUDA stream. docs/clients.md is its manual.
 *
 *     #include "perfkit_cuda.h"
 *
 *     static void copy(perfkit_case *c)
 *     {
 *         my_kernel<<<blocks, threads, 0, perfkit_stream()>>>(x, y, n);
 *     }
 *
 *     int main(int argc, char **argv) { ... return perfkit_cuda_main(e, argc, argv); }
 *
 * A sample is one call. Before it the L2 cache is overwritten, and a kernel waits on the stream until the host has launched all that the call
 * launches: launch latency is no part of time_ns. What the host took is time_host_ns. A call that itself waits for the stream would wait for
 * ever: that kernel gives up after a second, and the case goes on without it. perfkit_cuda_alloc() is what peak_bytes counts. */
#ifndef PERFKIT_CUDA_H
#define PERFKIT_CUDA_H

#include "perfkit.h"

#include <cuda_runtime.h>

typedef struct perfkit_gpu {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    void *flushed; /* twice the L2 cache */
    size_t flushed_bytes;
    int *flags; /* in host memory that the GPU sees: 0 the launches are made, 1 the waiting kernel gave up */
    int *gpu_flags; /* the same, as the GPU sees it */
    int waits;
} perfkit_gpu;

static perfkit_gpu perfkit_gpu_now;

/* The stream that a variant launches on. */
PERFKIT_FN cudaStream_t perfkit_stream(void)
{
    return perfkit_gpu_now.stream;
}

/* True for cudaSuccess; otherwise the case ends: out of memory, or failed with CUDA's reason. */
PERFKIT_FN int perfkit_cuda_ok(perfkit_case *c, cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return 1;
    cudaGetLastError(); /* an error that can be left behind is */
    if (error == cudaErrorMemoryAllocation)
        perfkit_oom(c, "%s: %s", what, cudaGetErrorString(error));
    else
        perfkit_fail(c, "%s: %s", what, cudaGetErrorString(error));
    c->broken = cudaDeviceSynchronize() != cudaSuccess && error != cudaErrorNoDevice;
    return 0;
}

PERFKIT_FN void perfkit_cuda_release(void *p)
{
    cudaFree(p);
}

/* Memory of the GPU that is freed at the end of the case. NULL when there is too little: the case is then out of memory. */
PERFKIT_FN void *perfkit_cuda_alloc(perfkit_case *c, size_t bytes)
{
    void *p = NULL;
    if (!perfkit_count_bytes(c, bytes) ||
        !perfkit_cuda_ok(c, cudaMalloc(&p, bytes ? bytes : 1), "cudaMalloc"))
        return NULL;
    return perfkit_owned(c, p, perfkit_cuda_release);
}

static __device__ unsigned long long perfkit_gpu_ns(void)
{
    unsigned long long ns = 0;
#ifdef __CUDA_ARCH__
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
#endif
    return ns;
}

/* Holds the stream until flags[0] is set, for at most a second. */
static __global__ void perfkit_wait(volatile int *flags)
{
    const unsigned long long began = perfkit_gpu_ns();
    while (!flags[0])
        if (perfkit_gpu_ns() - began > 1000000000ull) {
            flags[1] = 1;
            __threadfence_system();
            return;
        }
}

PERFKIT_FN void perfkit_gpu_open(perfkit_case *c)
{
    perfkit_gpu *g = &perfkit_gpu_now;
    const int ordinal =
        c->device[4] == ':' ? atoi(c->device + 5) : 0; /* one that has a UUID is the only visible one */
    int l2 = 0, n = 0;
    memset(g, 0, sizeof *g);
    if (cudaGetDeviceCount(&n) != cudaSuccess || ordinal < 0 || ordinal >= n) {
        perfkit_skip(c, "there is no GPU %d: %s", ordinal, cudaGetErrorString(cudaGetLastError()));
        return;
    }
    if (!perfkit_cuda_ok(c, cudaSetDevice(ordinal), "cudaSetDevice") ||
        !perfkit_cuda_ok(c, cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, ordinal),
                         "the size of the L2 cache"))
        return;
    g->flushed_bytes = 2 * (size_t)(l2 > 0 ? l2 : 64 << 20);
    g->waits =
        perfkit_cuda_ok(c, cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking), "a stream") &&
        perfkit_cuda_ok(c, cudaEventCreate(&g->begin), "an event") &&
        perfkit_cuda_ok(c, cudaEventCreate(&g->end), "an event") &&
        perfkit_cuda_ok(c, cudaMalloc(&g->flushed, g->flushed_bytes), "memory to flush the L2 cache with") &&
        perfkit_cuda_ok(c, cudaHostAlloc((void **)&g->flags, 2 * sizeof(int), cudaHostAllocMapped),
                        "pinned memory") &&
        perfkit_cuda_ok(c, cudaHostGetDevicePointer((void **)&g->gpu_flags, g->flags, 0), "pinned memory");
}

PERFKIT_FN void perfkit_gpu_close(perfkit_case *c)
{
    perfkit_gpu *g = &perfkit_gpu_now;
    (void)c;
    if (g->flags)
        cudaFreeHost(g->flags);
    if (g->flushed)
        cudaFree(g->flushed);
    if (g->end)
        cudaEventDestroy(g->end);
    if (g->begin)
        cudaEventDestroy(g->begin);
    if (g->stream)
        cudaStreamDestroy(g->stream);
    memset(g, 0, sizeof *g);
}

/* Everything is launched before anything is waited for. */
PERFKIT_FN void perfkit_gpu_sample(perfkit_case *c, perfkit_fn run, int64_t *ns, int64_t *host_ns)
{
    perfkit_gpu *g = &perfkit_gpu_now;
    volatile int *const flags = g->flags;
    float ms = 0;
    int64_t began;
    flags[0] = flags[1] = 0;
    if (!perfkit_cuda_ok(c, cudaMemsetAsync(g->flushed, 0, g->flushed_bytes, g->stream),
                         "flushing the L2 cache"))
        return;
    if (g->waits) {
        void *args[] = {&g->gpu_flags};
        if (!perfkit_cuda_ok(
                c, cudaLaunchKernel((const void *)perfkit_wait, dim3(1), dim3(1), args, 0, g->stream),
                "the waiting kernel"))
            return;
    }
    cudaEventRecord(g->begin, g->stream);
    began = perfkit_now();
    run(c);
    *host_ns = perfkit_now() - began;
    cudaEventRecord(g->end, g->stream);
    flags[0] = 1;
    if (!perfkit_cuda_ok(c, cudaGetLastError(), "launching the variant") ||
        !perfkit_cuda_ok(c, cudaStreamSynchronize(g->stream), "the variant") ||
        !perfkit_cuda_ok(c, cudaEventElapsedTime(&ms, g->begin, g->end), "the time between two events"))
        return;
    *ns = (int64_t)((double)ms * 1e6 + 0.5);
    if (flags
            [1]) { /* the call waited for the stream, or launched more than its queue holds: what it launches is not held back */
        fprintf(stderr, "perfkit_cuda.h: %s waits for the stream: its times have the launches in them\n",
                c->e->name);
        g->waits = 0;
        if (c->e->reset)
            c->e->reset(c);
        perfkit_gpu_sample(c, run, ns, host_ns);
    }
}

/* perfkit_main() for a program that runs on a GPU. */
PERFKIT_FN int perfkit_cuda_main(perfkit_experiment *e, int argc, char **argv)
{
    static const perfkit_clock clock = {"CUDA events", perfkit_gpu_open, perfkit_gpu_sample,
                                        perfkit_gpu_close};
    e->cuda = &clock;
    return perfkit_main(e, argc, argv);
}

#endif
