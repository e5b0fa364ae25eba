/* Cuda shim: enough of CUDA C++ on the host to run kernels without tensor cores: one block after the other, its threads as
 * fibers that take turns at barriers and shuffles. Slow and exact: for checking arithmetic and indices, under sanitizers too. */
#pragma once

#include "ops/dtype.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#define __global__ static
#define __device__ inline
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__   static
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
struct float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{x, y, z, w};
}

extern dim3 gridDim, blockDim, blockIdx, threadIdx;

/* Runs body once per thread of every block. Returns 0, or 1 (cudaErrorInvalidValue) for a shape that a GPU refuses. */
int pk_shim_run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &body);
extern int pk_shim_last;
unsigned char *pk_shim_shared();
void pk_shim_barrier();
void pk_shim_warp_barrier();
/* ops/cuda/mma.h by its documented layout: every lane of a whole warp calls. */
void pk_shim_mma(float *d, const uint32_t *a, const uint32_t *b);
/* What lane `from` of the caller's warp gave; every lane of the warp calls. */
uint32_t pk_shim_exchange(uint32_t bits, unsigned from);
/* Bit i is what lane i gave; every lane of the warp calls. */
uint32_t pk_shim_ballot(bool mine);

#define PK_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                            \
    (void)(stream), pk_shim_last = pk_shim_run(grid, block, shared_bytes, [&] { kernel(__VA_ARGS__); })
#define PK_LAUNCHED()                  pk_shim_last
#define PK_ALLOW_SHARED(kernel, bytes) ((bytes) > 227 * 1024 ? 1 : 0)
#define PK_SHARED(type, name)          type *name = reinterpret_cast<type *>(pk_shim_shared())

static inline void __syncthreads()
{
    pk_shim_barrier();
}
/* Copies are done when they are waited for, so that what was not is seen as missing. */
void pk_shim_fetch(float *to, const float *from, int floats);
void pk_shim_fetch_wait();
template <int BYTES> static inline void pk_fetch(float *to, const float *from, bool real)
{
    static_assert(BYTES == 4 || BYTES == 16, "what cp.async has");
    pk_shim_fetch(to, real ? from : nullptr, BYTES / 4);
}
static inline void pk_fetch_wait()
{
    pk_shim_fetch_wait();
}
static inline float pk_exp2(float x)
{
    return x < -126 ? 0 : exp2f(x);
}
static inline uint32_t pk_bf16_two(float low, float high)
{
    return (uint32_t)pk_bf16_of_float(high) << 16 | pk_bf16_of_float(low);
}
static inline void __syncwarp()
{
    pk_shim_warp_barrier();
}
static inline float pk_shim_float(uint32_t bits)
{
    float v;
    __builtin_memcpy(&v, &bits, 4);
    return v;
}
static inline uint32_t pk_shim_bits(float v)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &v, 4);
    return bits;
}
static inline uint32_t pk_bits(float v)
{
    return pk_shim_bits(v);
}
static inline float pk_float(uint32_t bits)
{
    return pk_shim_float(bits);
}
static inline void pk_mma_m16n8k8(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    pk_shim_mma(d, a, b);
}
static inline unsigned pk_shim_lane()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}
static inline float __shfl_xor_sync(unsigned, float v, int mask, int = 32)
{
    return pk_shim_float(pk_shim_exchange(pk_shim_bits(v), pk_shim_lane() ^ (unsigned)mask));
}
static inline float __shfl_sync(unsigned, float v, int from, int width = 32)
{
    const unsigned lane = pk_shim_lane();
    return pk_shim_float(pk_shim_exchange(pk_shim_bits(v), lane / (unsigned)width * (unsigned)width +
                                                               (unsigned)from % (unsigned)width));
}
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __ldg(const float *p)
{
    return *p;
}
#define __expf(x) expf(x) /* the C library has a function of that name */
template <typename T> static inline T min(T a, T b)
{
    return a < b ? a : b;
}
template <typename T> static inline T max(T a, T b)
{
    return a > b ? a : b;
}
/* Threads of a block take turns at barriers alone: nothing comes between. */
template <typename T> static inline T atomicAdd(T *p, T v)
{
    const T old = *p;
    *p += v;
    return old;
}
static inline unsigned __shfl_sync(unsigned, unsigned v, int from)
{
    return pk_shim_exchange(v, (unsigned)from % 32);
}
static inline unsigned __ballot_sync(unsigned, bool mine)
{
    return pk_shim_ballot(mine);
}
static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}
static inline int __ffs(unsigned bits)
{
    return __builtin_ffs((int)bits);
}
