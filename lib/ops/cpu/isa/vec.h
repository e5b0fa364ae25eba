/* Vec: vectors with the width of the instruction set, in the compilers' vector types. */
#pragma once

#include "ops/cpu/isa/isa.h"

#include <math.h>
/* immintrin.h takes a compiler a quarter of a second */
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE__)
#include <emmintrin.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef float vf __attribute__((vector_size(4 * VL)));
typedef uint32_t vu __attribute__((vector_size(4 * VL)));
typedef int32_t vi __attribute__((vector_size(4 * VL)));

#define PK_INLINE static inline __attribute__((always_inline))

PK_INLINE vf vload(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

PK_INLINE void vstore(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

/* The first n lanes, n <= VL; the others are `fill`. */
PK_INLINE vf vload_part(const float *p, size_t n, float fill)
{
    float lanes[VL];
    for (size_t i = 0; i < VL; i++)
        lanes[i] = i < n ? p[i] : fill;
    return vload(lanes);
}

PK_INLINE void vstore_part(float *p, vf v, size_t n)
{
    memcpy(p, &v, n * sizeof *p);
}

PK_INLINE vf vset(float x)
{
    return x - (vf){0};
}

/* The larger of each lane; `b` if either is NaN. */
PK_INLINE vf vmax(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    vi yes = a > b;
    return (vf)((yes & (vi)a) | (~yes & (vi)b));
#endif
}

PK_INLINE vf vsqrt(vf x)
{
#if defined(__AVX512F__)
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE__)
    return (vf)_mm_sqrt_ps((__m128)x);
#else
    for (int i = 0; i < VL; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

/* 1 / x within 2 units in the last place, for x in [1, 2^127): the CPU's estimate and one Newton step, much cheaper than a division. */
PK_INLINE vf vreciprocal(vf x)
{
#if defined(__AVX512F__)
    const vf r = (vf)_mm512_rcp14_ps((__m512)x);
#elif defined(__AVX2__)
    const vf r = (vf)_mm256_rcp_ps((__m256)x);
#elif defined(__SSE__)
    const vf r = (vf)_mm_rcp_ps((__m128)x);
#else
    return 1.0f / x;
#endif
#if defined(__SSE__)
    return r + r * (1.0f - x * r);
#endif
}

/* vswap: neighbours exchanged; veven: the even of two neighbours in both places; vodd: the odd. */
#if defined(__AVX512F__)
#define PK_LANES(f) f(0), f(2), f(4), f(6), f(8), f(10), f(12), f(14)
#elif defined(__AVX2__)
#define PK_LANES(f) f(0), f(2), f(4), f(6)
#else
#define PK_LANES(f) f(0), f(2)
#endif
#define PK_SWAPPED(i) (i) + 1, (i)
#define PK_EVEN(i)    (i), (i)
#define PK_ODD(i)     (i) + 1, (i) + 1
#define PK_MINUS(i)   -1.0f, 1.0f
PK_INLINE vf vswap(vf x)
{
    return __builtin_shufflevector(x, x, PK_LANES(PK_SWAPPED));
}

PK_INLINE vf veven(vf x)
{
    return __builtin_shufflevector(x, x, PK_LANES(PK_EVEN));
}

PK_INLINE vf vodd(vf x)
{
    return __builtin_shufflevector(x, x, PK_LANES(PK_ODD));
}

/* The even of two neighbours negated. */
PK_INLINE vf valternate(vf x)
{
    return x * (vf){PK_LANES(PK_MINUS)};
}

/* x where mask (lanes of 0 and -1) is set, else 0. */
PK_INLINE vf vkeep(vi mask, vf x)
{
    return (vf)(mask & (vi)x);
}

PK_INLINE float vsum(vf v)
{
    float s = 0;
    for (int i = 0; i < VL; i++)
        s += v[i];
    return s;
}

PK_INLINE float vtop(vf v)
{
    float m = v[0];
    for (int i = 1; i < VL; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

/* Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits: no call, one instruction. */
#define PK_ROUND_MAGIC 0x1.8p23f

/* p * 2^n for the n in the low bits of z; the result must be a normal number. */
PK_INLINE vf vscale_by_round(vf p, vf z)
{
    return (vf)((vu)p + ((vu)z << 23));
}

/* 2^t for t <= 127, at least 2^-126 (-inf too). Polynomial of degree 5 on [-1/2, 1/2], relative error 9.2e-8.
 */
PK_INLINE vf vexp2(vf t)
{
    t = vmax(vset(-126.0f), t);
    vf z = t + PK_ROUND_MAGIC;
    vf f = t - (z - PK_ROUND_MAGIC);
    vf p = vset(0x1.5bba08p-10f);
    p = p * f + 0x1.3cea88p-7f;
    p = p * f + 0x1.c6b754p-5f;
    p = p * f + 0x1.ebf9bcp-3f;
    p = p * f + 0x1.62e42ap-1f;
    p = p * f + 1.0f;
    return vscale_by_round(p, z);
}

/* e^x for x <= 88, 0 below -87.3 (and for -inf). Cody-Waite reduction, degree 6 on [-ln2/2, ln2/2]. */
PK_INLINE vf vexp(vf x)
{
    const float lowest = -87.33654f; /* ln 2^-126 */
    vf u = vmax(vset(lowest), x);
    vf z = u * 0x1.715476p+0f + PK_ROUND_MAGIC;
    vf n = z - PK_ROUND_MAGIC;
    vf r = u - n * 0x1.62e400p-1f; /* ln2 in two parts: n times the first is exact */
    r = r - n * 0x1.7f7d1cp-20f;
    vf p = vset(0x1.6af074p-10f);
    p = p * r + 0x1.12675ep-7f;
    p = p * r + 0x1.55581cp-5f;
    p = p * r + 0x1.55541ap-3f;
    p = p * r + 0x1.fffffcp-2f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return vkeep(~(x < lowest), vscale_by_round(p, z)); /* NaN stays NaN */
}
