/* Tensor core: aligned sums, cut off. */
#include "tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace
{

/* Products in a step, and bits kept below the leading one of the term with the largest exponent. */
constexpr int TERMS = 4, TERMS_OF_16 = 8, KEPT = 24;
constexpr int LEAST = -126; /* exponent of subnormal numbers and of zero */

uint32_t bits_of(float x)
{
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

double value_of(uint32_t tf32)
{
    float x;
    tf32 &= ~0x1fffu;
    std::memcpy(&x, &tf32, sizeof x);
    return x;
}

int exponent_of(uint32_t bits)
{
    return std::max((int)(bits >> 23 & 0xff) - 127, LEAST);
}

/* 2^e for normal numbers. */
double power_of_two(int e)
{
    const uint64_t bits = (uint64_t)(1023 + e) << 52;
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/* Toward zero to fp32. */
float cut_to_float(double x)
{
    if (std::fabs(x) < 0x1p-126)
        return (float)(std::trunc(x * 0x1p149) * 0x1p-149);
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits &= ~(uint64_t)0x1fffffff;
    std::memcpy(&x, &bits, sizeof bits);
    return (float)x;
}

/* c plus the products, `all` in any order; top: the largest exponent of a term. */
template <int N> float aligned_sum(const double (&product)[N], double all, int top, float c)
{
    if (!std::isfinite(all))
        return (float)all;
    const double unit = power_of_two(KEPT - top);
    int64_t sum = (int64_t)(c * unit);
    for (double p : product)
        sum += (int64_t)(p * unit);
    return cut_to_float((double)sum * power_of_two(top - KEPT));
}

float step(const uint32_t *a, const uint32_t *b, float c)
{
    double product[TERMS], all = c;
    int top = exponent_of(bits_of(c));
    for (int i = 0; i < TERMS; i++) {
        product[i] = value_of(a[i]) * value_of(b[i]);
        all += product[i];
        top = std::max(top, exponent_of(a[i]) + exponent_of(b[i]));
    }
    return aligned_sum(product, all, top, c);
}

float step16(const pk_fp16_term *a, const pk_fp16_term *b, float c)
{
    double product[TERMS_OF_16], all = c;
    int top = exponent_of(bits_of(c));
    for (int i = 0; i < TERMS_OF_16; i++) {
        product[i] = a[i].value * b[i].value;
        all += product[i];
        top = std::max(top, a[i].exponent + b[i].exponent);
    }
    return aligned_sum(product, all, top, c);
}

} // namespace

float pk_tensor_core_sum(const uint32_t *a, const uint32_t *b, float c)
{
    return step(a + TERMS, b + TERMS, step(a, b, c));
}

/* Subnormal numbers have the exponent of the least normal one, zero that of fp32's zero. */
pk_fp16_term pk_fp16_decoded(uint16_t bits)
{
    const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return {fraction ? NAN : sign * INFINITY, 16};
    if (exponent == 0)
        return {sign * fraction * 0x1p-24, fraction ? -14 : LEAST};
    return {sign * (1024 + fraction) * power_of_two(exponent - 25), exponent - 15};
}

float pk_tensor_core_sum16(const pk_fp16_term *a, const pk_fp16_term *b, float c)
{
    return step16(a + TERMS_OF_16, b + TERMS_OF_16, step16(a, b, c));
}
