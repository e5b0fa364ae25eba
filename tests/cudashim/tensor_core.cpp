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
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits &= ~(uint64_t)0x1fffffff;
    double normal;
    std::memcpy(&normal, &bits, sizeof normal);
    const double subnormal = (double)(int32_t)(x * 0x1p149) * 0x1p-149; /* used where it is less than 2^23 */
    return (float)(std::fabs(x) < 0x1p-126 ? subnormal : normal);
}

/* Loops over columns are the innermost, without branches: a compiler makes vectors of them. Terms are cut to less than 2^26. */
template <int N> void step(const pk_term *a, const pk_terms *b, float *c)
{
    constexpr int COLUMNS = PK_COLUMNS_AT_ONCE;
    double all[COLUMNS], unit[COLUMNS];
    int top[COLUMNS];
    uint32_t sum[COLUMNS];
    for (int j = 0; j < COLUMNS; j++)
        all[j] = c[j], top[j] = exponent_of(bits_of(c[j]));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < COLUMNS; j++) {
            all[j] += a[i].value * b[i].value[j];
            top[j] = std::max(top[j], a[i].exponent + b[i].exponent[j]);
        }
    for (int j = 0; j < COLUMNS; j++) {
        unit[j] = power_of_two(KEPT - top[j]);
        sum[j] = (uint32_t)(int32_t)(c[j] * unit[j]);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum[j] += (uint32_t)(int32_t)(a[i].value * b[i].value[j] * unit[j]);
    for (int j = 0; j < COLUMNS; j++) {
        const float cut = cut_to_float((double)(int32_t)sum[j] * power_of_two(top[j] - KEPT));
        c[j] = std::isfinite(all[j]) ? cut : (float)all[j];
    }
}

} // namespace

void pk_tensor_core_add(const pk_term *a, const pk_terms *b, float *c)
{
    step<TERMS>(a, b, c);
    step<TERMS>(a + TERMS, b + TERMS, c);
}

void pk_tensor_core_add16(const pk_term *a, const pk_terms *b, float *c)
{
    step<TERMS_OF_16>(a, b, c);
    step<TERMS_OF_16>(a + TERMS_OF_16, b + TERMS_OF_16, c);
}

pk_term pk_tf32_decoded(uint32_t bits)
{
    const uint32_t kept = bits & ~0x1fffu;
    float x;
    std::memcpy(&x, &kept, sizeof x);
    return {x, exponent_of(bits)};
}

/* Subnormal numbers have the exponent of the least normal one, zero that of fp32's zero. */
pk_term pk_fp16_decoded(uint16_t bits)
{
    const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return {fraction ? NAN : sign * INFINITY, 16};
    if (exponent == 0)
        return {sign * fraction * 0x1p-24, fraction ? -14 : LEAST};
    return {sign * (1024 + fraction) * power_of_two(exponent - 25), exponent - 15};
}
