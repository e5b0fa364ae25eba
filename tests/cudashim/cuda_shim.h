/* Cuda shim: enough of CUDA C++ on the host to run kernels: one block after the other, its threads as fibers that take turns at barriers and
 * calls of a warp. Slow and exact: for checking arithmetic and indices, under AddressSanitizer too.
 *
 * A launch that a GPU refuses is refused. Shared memory is poisoned before each block. Where threads meet in a way that CUDA leaves
 * undefined, or wait for each other for ever, a message says where, and the test ends by abort; likewise where a thread meets others or ends
 * without having waited for the previous kernel (ops/cuda/launch.h). Linked with ThreadSanitizer, fibers are threads to it, ordered by
 * __syncthreads and __syncwarp alone: what a missing barrier leaves open is a data race, in whatever order fibers ran. What the host and
 * kernels before wrote is seen from pk_wait_for_previous() on: an access before that is a data race, too. */
#pragma once

#include "ops/dtype.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#define __global__ static
#define __device__ inline
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __grid_constant__
#define __shared__   static __attribute__((section("pk_shared")))
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

/* The last parameter of a kernel that has __launch_bounds__, and what a launch finds there. */
template <unsigned THREADS, unsigned = 1> struct pk_shim_bounds {
};
struct pk_shim_kernel {
    const void *address;
    unsigned most_threads;
    const char *file; /* of the launch */
    int line;

    template <typename F>
    explicit pk_shim_kernel(F *kernel, const char *file_ = __builtin_FILE(), int line_ = __builtin_LINE())
        : address(reinterpret_cast<const void *>(kernel)), most_threads(most(kernel)), file(file_),
          line(line_)
    {
    }

  private:
    template <typename T> struct bound {
        static constexpr unsigned OF = 1024;
    };
    template <unsigned THREADS, unsigned BLOCKS> struct bound<pk_shim_bounds<THREADS, BLOCKS>> {
        static constexpr unsigned OF = THREADS;
    };
    template <typename... A> static unsigned most(void (*)(A...))
    {
        unsigned last = 1024;
        return ((last = bound<A>::OF), ...), last;
    }
};

/* Runs call(with) once per thread of every block. Returns 0, or the cudaError_t of a launch that a GPU refuses. */
struct pk_shim_body {
    void (*call)(const void *with);
    const void *with;
};
int pk_shim_run(const pk_shim_kernel &kernel, dim3 grid, dim3 block, size_t shared_bytes,
                const pk_shim_body &body);
/* For ThreadSanitizer, before a test's data is written: what is written from here on is the previous kernel's. */
bool pk_shim_begin();
/* Arguments of a launch are there before the kernel waits: ThreadSanitizer does not see how a thread gets them. */
#define PK_UNWATCHED __attribute__((no_sanitize("thread")))
template <typename F>
int pk_shim_launch(const pk_shim_kernel &kernel, dim3 grid, dim3 block, size_t shared_bytes, const F &f)
{
    const auto call = [](const void *with) PK_UNWATCHED { (*static_cast<const F *>(with))(); };
    return pk_shim_run(kernel, grid, block, shared_bytes, {call, &f});
}
int pk_shim_allow_shared(const void *kernel, size_t bytes);
extern size_t
    pk_shim_shared_most; /* dynamic shared memory that a block may ask for: 227 KiB, as compute capability 9.0 has */
extern bool pk_shim_sampled;    /* launches run their first, middle and last block alone, */
extern unsigned pk_shim_every;  /* or each so manieth block alone, if not 0, */
extern unsigned pk_shim_spared; /* but for so many that come next, which prepare what others read */
unsigned char *pk_shim_shared();

/* A call at which threads wait for each other. Those of a warp are made by all lanes that the mask names. */
struct pk_shim_site {
    const char *call, *file;
    int line;
};
void pk_shim_wait_for_previous(const pk_shim_site &site);
void pk_shim_barrier(const pk_shim_site &site);
void pk_shim_warp_barrier(unsigned mask, const pk_shim_site &site);
/* What lane `from` of the caller's warp gave. */
uint32_t pk_shim_exchange(unsigned mask, uint32_t bits, unsigned from, const pk_shim_site &site);
/* Bit i is what lane i gave. */
uint32_t pk_shim_ballot(unsigned mask, bool mine, const pk_shim_site &site);
/* ops/cuda/attention/mma.h by its documented layout: every lane of a whole warp calls. */
void pk_shim_mma(float *d, const uint32_t *a, const uint32_t *b);

/* For other parts of the shim (warpgroup.cpp). A caller that sleeps is woken to look whether it may go on. Whole warps meet without an order for
 * ThreadSanitizer: the last lane serves those from thread `first` on. Blocks have different numbers. */
void pk_shim_sleep(const pk_shim_site &site);
void pk_shim_wake_all();
void pk_shim_meet(const pk_shim_site &site, void (*serve)(size_t first));
size_t pk_shim_thread(const char *what); /* that calls; it has waited for the previous kernel */
uint64_t pk_shim_block();
bool pk_shim_left_out(const pk_shim_site &site);
void pk_shim_acquire(void *at);
void pk_shim_release(void *at);
void pk_shim_writes(void *at, size_t bytes);
void pk_shim_reads(const void *at, size_t bytes);
__attribute__((noreturn, format(printf, 1, 2))) void pk_shim_wrong(const char *format, ...);

#define PK_KERNEL(bounds, name, ...) static void name(__VA_ARGS__, pk_shim_bounds<PK_BOUNDS bounds> = {})
#define PK_BOUNDS(...)               __VA_ARGS__
#define PK_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                            \
    ((void)(stream), pk_shim_launch(pk_shim_kernel(kernel), grid, block, shared_bytes,                       \
                                    [&]() PK_UNWATCHED { kernel(__VA_ARGS__); }))
#define PK_ALLOW_SHARED(kernel, bytes) pk_shim_allow_shared(pk_shim_kernel(kernel).address, bytes)
#define PK_SHARED(type, name)          type *name = reinterpret_cast<type *>(pk_shim_shared())

#define PK_SITE_OF_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()
static inline void pk_wait_for_previous(PK_SITE_OF_CALLER)
{
    pk_shim_wait_for_previous({"pk_wait_for_previous", file, line});
}
static inline void __syncthreads(PK_SITE_OF_CALLER)
{
    pk_shim_barrier({"__syncthreads", file, line});
}
static inline void __syncwarp(unsigned mask = 0xffffffff, PK_SITE_OF_CALLER)
{
    pk_shim_warp_barrier(mask, {"__syncwarp", file, line});
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
/* Each addition is atomic, also to ThreadSanitizer: other accesses to the same float that no barrier orders are data races. */
void pk_shim_may_add(const float *to, int floats, const pk_shim_site &site);
template <int N> static inline void pk_add(float *to, const float *v, PK_SITE_OF_CALLER)
{
    static_assert(N == 1 || N == 2 || N == 4, "what red.add has");
    pk_shim_may_add(to, N, {"pk_add", file, line});
    for (int i = 0; i < N; i++) {
        float now, sum;
        __atomic_load(to + i, &now, __ATOMIC_RELAXED);
        do
            sum = now + v[i];
        while (!__atomic_compare_exchange(to + i, &now, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    }
}
static inline float pk_exp2(float x)
{
    return x < -126 ? 0 : exp2f(x);
}
static inline uint32_t pk_bf16_two(float low, float high)
{
    return (uint32_t)pk_bf16_of_float(high) << 16 | pk_bf16_of_float(low);
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
static inline float __shfl_xor_sync(unsigned mask, float v, int bits, PK_SITE_OF_CALLER)
{
    return pk_shim_float(pk_shim_exchange(mask, pk_shim_bits(v), pk_shim_lane() ^ (unsigned)bits,
                                          {"__shfl_xor_sync", file, line}));
}
static inline unsigned __shfl_sync(unsigned mask, unsigned v, int from, PK_SITE_OF_CALLER)
{
    return pk_shim_exchange(mask, v, (unsigned)from % 32, {"__shfl_sync", file, line});
}
static inline unsigned __ballot_sync(unsigned mask, bool mine, PK_SITE_OF_CALLER)
{
    return pk_shim_ballot(mask, mine, {"__ballot_sync", file, line});
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
template <typename T> static inline T atomicAdd(T *p, T v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); /* of integers; of floats: pk_add */
}
static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}
static inline int __ffs(unsigned bits)
{
    return __builtin_ffs((int)bits);
}
