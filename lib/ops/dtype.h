/* Dtype: how the elements of an array are stored, and how products of them are made. C and CUDA C++ both read it.
 *
 * bf16 is the upper half of an fp32, a uint16_t here and in kernels: 8 bits of precision, the range of fp32. Sums are fp32 whatever the
 * elements are. */
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

/* Products of fp32 elements: exact but for rounding; of operands rounded to 11 bits (tf32), by tensor cores; or of each operand's upper
 * and lower parts in three such products, nearly as exact as the first. Products of bf16 elements are exact in fp32: one way. */
enum pk_math { PK_MATH_IEEE, PK_MATH_TF32, PK_MATH_3XTF32 };

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

/* To the nearest, halves to even; what is not a number stays so. */
PK_EVERYWHERE static inline uint16_t pk_bf16_of_float(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (v != v)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* n of them, stored at the start of the memory that holds them afterwards as fp32. */
static inline void pk_bf16_widen(float *x, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        uint16_t narrow;
        memcpy(&narrow, (const char *)x + i * sizeof narrow, sizeof narrow);
        x[i] = pk_bf16_to_float(narrow);
    }
}
