/* Dtype: how the elements of an array are stored, and how products of them are made. C and CUDA C++ both read it.
 *
 * bf16 is the upper half of an fp32, a uint16_t here and in kernels: 8 bits of precision, the range of fp32. Sums are always fp32. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define PK_EVERYWHERE __host__ __device__
#else
#define PK_EVERYWHERE
#endif

enum pk_dtype { PK_FP32, PK_BF16 };

/* How fp32 elements are multiplied: in IEEE fp32; with operands rounded to 11 bits (tf32), by tensor cores; or as three tf32 or fp16
 * products of the operands' upper and lower parts, which is nearly as exact as IEEE. Products of bf16 elements are exact in fp32, so they need no
 * choice. */
enum pk_math { PK_MATH_IEEE, PK_MATH_TF32, PK_MATH_3XTF32, PK_MATH_FP16X3 };

static inline const char *pk_math_name(enum pk_math math)
{
    static const char *const names[] = {"ieee", "tf32", "3xtf32", "fp16x3"};
    return names[math];
}

static inline size_t pk_dtype_bytes(enum pk_dtype type)
{
    return type == PK_BF16 ? sizeof(uint16_t) : sizeof(float);
}

PK_EVERYWHERE static inline float pk_bf16_to_float(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Rounds to nearest, ties to even; NaN stays NaN. */
PK_EVERYWHERE static inline uint16_t pk_bf16_of_float(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (v != v)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* Widens n elements in place: before, bf16 at the start of x; afterwards fp32. */
static inline void pk_bf16_widen(float *x, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        uint16_t narrow;
        memcpy(&narrow, (const char *)x + i * sizeof narrow, sizeof narrow);
        x[i] = pk_bf16_to_float(narrow);
    }
}
