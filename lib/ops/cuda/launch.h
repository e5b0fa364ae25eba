/* Launch: macros and functions of kernel files that differ between nvcc and the host shim for tests (tests/cudashim).
 *
 *   PK_KERNEL((threads[, blocks]), name, parameters...)                  a kernel with __launch_bounds__, which its launches have to keep
 *   pk_wait_for_previous()                                               the first statement of every kernel: see below
 *   PK_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...)   the launch: 0, or its cudaError_t
 *   PK_SHARED(type, name)                                                the block's dynamic shared memory
 *   pk_fetch<BYTES>(to, from, real)                                      begins a copy of 4 or 16 bytes from global to shared memory, or
 *                                                                        of zeros; pk_fetch_wait() ends all that the thread began
 *   pk_add<N>(to, v)                                                     atomic additions to N adjacent floats of global memory, aligned
 *                                                                        to all of them: 1, 2 or 4
 *   pk_exp2(x)                                                           2^x to 2 ulp, 0 for results below 2^-126
 *   pk_bf16_two(low, high)                                               two numbers rounded to bf16, as halves of a word
 * A kernel template with several parameters is put into parentheses: PK_LAUNCH((softmax<32, 4>), ...).
 *
 * Dependent launch: if pk_cuda_may_overlap allows it, the blocks of a kernel may start when the blocks of the previous kernel in the
 * stream have exited, but before its results are visible. So every thread of every kernel first waits for the previous kernel
 * (griddepcontrol.wait, which returns at once in an ordinary launch) before it reads or writes global memory or exits. Because each
 * kernel waits for the previous one, it has waited for all earlier ones. No kernel allows the next one to start before its own exit. */
#pragma once

#include "ops/dtype.h"

#ifdef PK_CUDA_SHIM
#include "cuda_shim.h"
#else
#include <cuda_runtime.h>
#define PK_KERNEL(bounds, name, ...) __global__ void __launch_bounds__ bounds name(__VA_ARGS__)
#define PK_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                            \
    pk_launch(kernel, grid, block, shared_bytes, stream, __VA_ARGS__)
/* More than 48 KB of shared memory must be requested for each kernel. */
#define PK_ALLOW_SHARED(kernel, bytes)                                                                       \
    ((int)cudaFuncSetAttribute((const void *)(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,          \
                               (int)(bytes)))
#define PK_SHARED(type, name)                                                                                \
    extern __shared__ __align__(16) unsigned char pk_shared_block[];                                         \
    type *name = reinterpret_cast<type *>(pk_shared_block)

extern "C" bool pk_cuda_may_overlap(struct CUstream_st *stream); /* device/cuda/cuda.h, which is C */

template <typename... PARAMETERS, typename... ARGUMENTS>
static int pk_launch(void (*kernel)(PARAMETERS...), dim3 grid, dim3 block, size_t shared_bytes,
                     cudaStream_t stream, const ARGUMENTS &...arguments)
{
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {grid,   block,    shared_bytes,
                                       stream, &overlap, pk_cuda_may_overlap(stream) ? 1u : 0u};
    return (int)cudaLaunchKernelEx(&config, kernel, arguments...);
}
static __device__ __forceinline__ void pk_wait_for_previous()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
template <int BYTES> static __device__ __forceinline__ void pk_fetch(float *to, const float *from, bool real)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    const int bytes = real ? BYTES : 0; /* the rest is zeros */
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(bytes));
#else
    for (int i = 0; i < BYTES / 4; i++)
        to[i] = real ? from[i] : 0.0f;
#endif
}
static __device__ __forceinline__ void pk_fetch_wait()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
/* Not atomicAdd: for a pointer that the compiler does not know to be to global memory, it adds a loop for shared memory. Additions to vectors
 * came with compute capability 9.0 (PTX ISA 8.1). */
template <int N> static __device__ __forceinline__ void pk_add(float *to, const float *v)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    constexpr bool VECTORS = true;
#else
    constexpr bool VECTORS = false;
#endif
    if constexpr (VECTORS && N == 4)
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v[0]),
                     "f"(v[1]), "f"(v[2]), "f"(v[3])
                     : "memory");
    else if constexpr (VECTORS && N == 2)
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(v[0]), "f"(v[1])
                     : "memory");
    else
        for (int i = 0; i < N; i++)
            asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to + i), "f"(v[i]) : "memory");
}
static __device__ __forceinline__ float pk_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ uint32_t pk_bf16_two(float low, float high)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    uint32_t two;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
#else
    return (uint32_t)pk_bf16_of_float(high) << 16 | pk_bf16_of_float(low);
#endif
}
#endif
