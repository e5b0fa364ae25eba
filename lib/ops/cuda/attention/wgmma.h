/* Wgmma: products of a warpgroup on the tensor cores of compute capability 9.0, and what they need: 16-bit operands in shared memory,
 * copies that run by themselves, and barriers that count bytes (PTX ISA: wgmma, cp.async.bulk, mbarrier).
 *
 * An operand in shared memory is K-major without swizzle. Its core matrices, 8 lines of 8 halves, are 128 bytes; here the 8 halves k..k+7 of
 * all lines are beside each other: chunk (line, k / 8) is at ((k / 8) * lines + line) * 16 bytes. pk_lines describes 16 halves of each line
 * to the tensor cores, from k on.
 *
 *   pk_wgmma(d, a, b, add)    d = a * b, + d if add: [64, N] in fp32, N = 2 x the floats of d; a [64, 16], b [N, 16] transposed. a is lines,
 *                             or 4 registers of a thread. Between pk_wgmma_begin() and pk_wgmma_end(d) nobody touches d or the operands
 *   d, a in registers         lane 4g + t of warp w has rows 16w + g and 16w + g + 8. d: of each 8 columns 2t and 2t + 1, [4 * (column / 8)
 *                             + 2 * lower + column % 2]; a: halves 2t, 2t + 1 of the upper, of the lower row, then 8 columns further
 *   pk_bar_*                  barrier in shared memory: a phase ends when `count` threads have arrived and all bytes expected are there
 *   pk_copy_bulk              16-byte aligned, global to shared memory; its bytes arrive at the barrier
 *
 * Sums are cut off toward zero as those of mma.h are. Only code for sm_90a has this (PK_HAS_WGMMA): a build without it, which does not define
 * PK_SM90A, launches no kernel that needs it. */
#pragma once

#include "ops/cuda/launch.h"

#include <stdint.h>

#ifdef PK_CUDA_SHIM
#include "warpgroup.h"
#else
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define PK_HAS_WGMMA 1
#else
#define PK_HAS_WGMMA 0
#endif
static __device__ __forceinline__ unsigned pk_shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}
#if PK_HAS_WGMMA
static __device__ __forceinline__ void pk_bar_init(uint64_t *bar, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(pk_shared_address(bar)), "r"(count)
                 : "memory");
}
/* After all are made, before a barrier of the block: copies see them. */
static __device__ __forceinline__ void pk_bar_made()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ __forceinline__ void pk_bar_arrive(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(pk_shared_address(bar)) : "memory");
}
static __device__ __forceinline__ void pk_bar_expect(uint64_t *bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(pk_shared_address(bar)),
                 "r"(bytes)
                 : "memory");
}
/* Until the phase of that parity has ended. */
static __device__ __forceinline__ void pk_bar_wait(uint64_t *bar, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(pk_shared_address(bar)),
                 "r"(parity)
                 : "memory");
}
static __device__ __forceinline__ void pk_copy_bulk(void *to, const void *from, unsigned bytes, uint64_t *bar)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            pk_shared_address(to)),
        "l"(from), "r"(bytes), "r"(pk_shared_address(bar))
        : "memory");
}
/* A warpgroup's registers a thread from now on: fewer than at the launch, or more, which others have left. */
template <int N> static __device__ __forceinline__ void pk_registers_leave()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> static __device__ __forceinline__ void pk_registers_take()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
#define PK_D8(i)     "%" #i "0,%" #i "1,%" #i "2,%" #i "3,%" #i "4,%" #i "5,%" #i "6,%" #i "7,%" #i "8,%" #i "9"
#define PK_F4(d, i)  "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3])
#define PK_F16(d, i) PK_F4(d, i), PK_F4(d, (i) + 4), PK_F4(d, (i) + 8), PK_F4(d, (i) + 12)
#define PK_D32       "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," PK_D8(1) "," PK_D8(2) ",%30,%31}"
#define PK_D64                                                                                               \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," PK_D8(1) "," PK_D8(2) "," PK_D8(3) "," PK_D8(4) "," PK_D8(             \
        5) ",%60,%61,%62,%63}"
static __device__ __forceinline__ void pk_wgmma(float (&d)[32], uint64_t a, uint64_t b, bool add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " PK_D32
                 ", %32, %33, add, 1, 1, 0, 0;\n}"
                 : PK_F16(d, 0), PK_F16(d, 16)
                 : "l"(a), "l"(b), "r"((int)add));
}
static __device__ __forceinline__ void pk_wgmma(float (&d)[32], const uint32_t (&a)[4], uint64_t b, bool add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " PK_D32
                 ", {%32,%33,%34,%35}, %36, add, 1, 1, 0;\n}"
                 : PK_F16(d, 0), PK_F16(d, 16)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}
static __device__ __forceinline__ void pk_wgmma(float (&d)[64], const uint32_t (&a)[4], uint64_t b, bool add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " PK_D64
                 ", {%64,%65,%66,%67}, %68, add, 1, 1, 0;\n}"
                 : PK_F16(d, 0), PK_F16(d, 16), PK_F16(d, 32), PK_F16(d, 48)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}
static __device__ __forceinline__ void pk_wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void pk_wgmma_end(float (&d)[N])
{
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])); /* read from here on */
}
#endif
/* Two numbers rounded to fp16, as halves of a word, and back. */
static __device__ __forceinline__ uint32_t pk_f16_two(float low, float high)
{
    uint32_t two = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
#endif
    return two;
}
static __device__ __forceinline__ float pk_f16_low(uint32_t two)
{
    float x;
    asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %1;\ncvt.f32.f16 %0, low;\n}" : "=f"(x) : "r"(two));
    return x;
}
static __device__ __forceinline__ float pk_f16_high(uint32_t two)
{
    float x;
    asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %1;\ncvt.f32.f16 %0, high;\n}" : "=f"(x) : "r"(two));
    return x;
}
#endif

/* 16 halves of each of `lines` lines, from column k on, of an operand at `at`. */
static __device__ uint64_t pk_lines(const void *at, unsigned lines, unsigned k)
{
    const uint64_t begin = (pk_shared_address(at) + k / 8 * lines * 16) >> 4;
    const uint64_t along_k = lines,
                   along_lines = 128 >> 4; /* from one core matrix to the next, in 16 bytes */
    return (begin & 0x3fff) | along_k << 16 | along_lines << 32;
}
