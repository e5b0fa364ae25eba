/* Delay: a kernel of one thread that reads the clock until a time has passed. It does not access memory. */
#include <cstdint>
#include <cuda_runtime.h>

static __device__ __forceinline__ uint64_t now_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

static __global__ void __launch_bounds__(1) delay(uint64_t ns)
{
    const uint64_t began = now_ns();
    while (now_ns() - began < ns)
        __nanosleep(100);
}

/* Declared in parts.h, which is C. */
extern "C" int pk_k_delay(struct CUstream_st *stream, uint64_t ns)
{
    delay<<<1, 1, 0, stream>>>(ns);
    return (int)cudaPeekAtLastError();
}

extern "C" int pk_k_compiled_for()
{
    cudaFuncAttributes found = {};
    if (cudaFuncGetAttributes(&found, delay))
        cudaGetLastError();
    return found.ptxVersion;
}
