/* Element: arrays of any stored type, read and written as vectors of fp32.
 *
 * Functions here are inlined with a constant type; a kernel selects it once, in a switch around its body. `lanes` is VL, except in the
 * last step of a loop, where it is the number of remaining elements: other lanes read as 0 and are not written. */
#pragma once

#include "ops/cpu/isa/vec.h"
#include "ops/dtype.h"

typedef uint16_t vh __attribute__((vector_size(2 * VL)));

PK_INLINE vf vwiden(vh x)
{
#if defined(__AVX512F__)
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)x), 16);
#elif defined(__AVX2__)
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)x), 16);
#elif defined(__SSE__)
    return (vf)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_set_epi64x(0, (long long)(uint64_t)x));
#else
    return (vf)(__builtin_convertvector(x, vu) << 16);
#endif
}

/* The lower halves of the lanes */
PK_INLINE vh vlower(vu x)
{
#if defined(__AVX512F__)
    return (vh)_mm512_cvtepi32_epi16((__m512i)x);
#elif defined(__AVX2__)
    return (vh)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
#else
    return __builtin_convertvector(x, vh);
#endif
}

/* Rounds like pk_bf16_of_float. */
PK_INLINE vh vnarrow(vf x)
{
    const vu bits = (vu)x, rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
    const vu nan = (vu)(x != x);
    return vlower((nan & quiet) | (~nan & rounded));
}

PK_INLINE const void *element(const enum pk_dtype type, const void *x, size_t i)
{
    return type == PK_BF16 ? (const void *)((const uint16_t *)x + i) : (const float *)x + i;
}

PK_INLINE vf get(const enum pk_dtype type, const void *x, size_t i, const size_t lanes)
{
    const void *at = element(type, x, i);
    if (type == PK_FP32)
        return lanes == VL ? vload(at) : vload_part(at, lanes, 0);
    vh narrow = {0};
    memcpy(&narrow, at, lanes * sizeof(uint16_t));
    return vwiden(narrow);
}

PK_INLINE void put(const enum pk_dtype type, void *y, size_t i, vf x, const size_t lanes)
{
    if (type == PK_FP32) {
        memcpy((float *)y + i, &x, lanes * sizeof(float));
        return;
    }
    const vh narrow = vnarrow(x);
    memcpy((uint16_t *)y + i, &narrow, lanes * sizeof narrow[0]);
}

/* The value of x after it was stored and read again. */
PK_INLINE vf as_stored(const enum pk_dtype type, vf x)
{
    return type == PK_BF16 ? vwiden(vnarrow(x)) : x;
}

PK_INLINE float get_one(const enum pk_dtype type, const void *x, size_t i)
{
    const void *at = element(type, x, i);
    float wide;
    if (type == PK_BF16) {
        uint16_t narrow;
        memcpy(&narrow, at, sizeof narrow);
        return pk_bf16_to_float(narrow);
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

/* e^-x, for sigmoid(x) = 1 / (1 + e^-x); limited to e^88, the largest value of vexp. */
PK_INLINE vf vexp_minus(vf x)
{
    return vexp(-vmax(vset(-88.0f), x));
}

PK_INLINE vf vsigmoid(vf x)
{
    return vreciprocal(1.0f + vexp_minus(x));
}
