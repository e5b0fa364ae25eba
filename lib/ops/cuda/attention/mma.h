/* Mma: one product on tensor cores; kernels see only its fragments.
 *
 * d[16, 8] += a[16, 8] * b[8, 8], operands tf32, sums fp32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32. Lane 4g + t has
 *   a  (g, t) (g + 8, t) (g, t + 4) (g + 8, t + 4)        b  (t, g) (t + 4, g)        d  (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
 * (PTX ISA, "Matrix fragments for mma.m16n8k8"). The last 13 bits of operands are ignored. Sums are rounded toward zero, not to nearest:
 * tests/cudashim/tensor_core.h describes this, and the host's pk_mma_m16n8k8 does the same. */
#pragma once

#include "ops/cuda/launch.h"

#include <stdint.h>

#ifndef PK_CUDA_SHIM
static __device__ __forceinline__ void pk_mma_m16n8k8(float (&d)[4], const uint32_t (&a)[4],
                                                      const uint32_t (&b)[2])
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap(); /* not reached: the launch is refused */
#endif
}
static __device__ __forceinline__ uint32_t pk_bits(float x)
{
    return __float_as_uint(x);
}
static __device__ __forceinline__ float pk_float(uint32_t bits)
{
    return __uint_as_float(bits);
}
#endif
