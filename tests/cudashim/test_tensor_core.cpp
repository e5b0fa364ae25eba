/* The emulated tensor core: sums that tell its rounding from that of others. */
#include "check.h"
#include "tensor_core.h"
#include "warpgroup.h"

namespace
{

using eight = const float[8];

constexpr int ONE = 5; /* of the columns whose sums are made at once */

uint32_t bits_of(float x)
{
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

float sum(eight &a, eight &b, float c)
{
    pk_term row[8];
    pk_terms columns[8] = {};
    float sums[PK_COLUMNS_AT_ONCE] = {};
    for (int i = 0; i < 8; i++) {
        row[i] = pk_tf32_decoded(bits_of(a[i]));
        pk_terms_set(columns[i], ONE, pk_tf32_decoded(bits_of(b[i])));
    }
    sums[ONE] = c;
    pk_tensor_core_add(row, columns, sums);
    return sums[ONE];
}

constexpr float INF = INFINITY, TINY = 0x1p-126f;

const struct {
    const char *what;
    float a[8], b[8], c, want;
} rows[] = {
    {"nothing", {}, {}, 3, 3},
    {"exact", {1, 2, 3, 4, 5, 6, 7, 8}, {1, -1, 1, -1, 1, -1, 1, 2}, 0.5f, 20.5f},
    {"the last 13 bits of an operand", {0x1.005p0f}, {0x1.003p0f}, 0, 0x1.004p0f},
    {"24 bits below the largest", {0x1p-12f, 0x1p-12f}, {0x1p-12f, 0x1p-12f}, 1, 1 + 0x1p-23f},
    {"25 bits below",
     {0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f},
     {0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1p-12f},
     1,
     1},
    {"a small difference", {-0x1p-13f}, {0x1p-12f}, 1, 1},
    {"the sum is cut off", {0x1.8p-12f}, {0x1p-12f}, 1, 1},
    {"a negative sum is cut off", {0x1.8p-12f}, {-0x1p-12f}, -1, -1},
    {"a product of 2.25 has exponent 0", {1.5f, 1.5f, 0x1p-12f}, {1.5f, -1.5f, 0x1p-12f}, 0, 0x1p-24f},
    {"four and four", {1, 0x1p-12f, 0, 0, -1}, {1, 0x1p-12f, 0, 0, 1}, 0, 0},
    {"the first four", {1, 0x1p-12f, -1}, {1, 0x1p-12f, 1}, 0, 0x1p-24f},
    {"subnormal", {TINY}, {0x1p-3f}, 0x1p-149f, 0x1p-129f + 0x1p-149f},
    {"largest", {0x1p127f}, {1}, 0x1.fffffep126f, 0x1.fffffep127f},
    {"overflow", {0x1p127f}, {4}, 0, INF},
    {"infinity", {INF}, {-1}, 0, -INF},
};

/* The first terms of 16 fp16 numbers; the others are zero. */
const struct {
    const char *what;
    float a[9], b[9], c, want;
} rows16[] = {
    {"exact", {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, -1, 1, -1, 1, -1, 1, 2, 1}, 0.5f, 29.5f},
    {"24 bits below the largest", {0x1p-12f, 0x1p-12f}, {0x1p-12f, 0x1p-12f}, 1, 1 + 0x1p-23f},
    {"25 bits below",
     {0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f},
     {0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1p-12f},
     1,
     1},
    {"a negative sum is cut off", {0x1.8p-12f}, {-0x1p-12f}, -1, -1},
    {"the first eight", {1, 0x1p-12f, 0, 0, 0, 0, 0, -1}, {1, 0x1p-12f, 0, 0, 0, 0, 0, 1}, 0, 0x1p-24f},
    {"eight and eight", {1, 0x1p-12f, 0, 0, 0, 0, 0, 0, -1}, {1, 0x1p-12f, 0, 0, 0, 0, 0, 0, 1}, 0, 0},
    {"subnormal", {0x1p-24f}, {0x1p-24f}, 0, 0x1p-48f},
};

float sum16(const float (&a)[9], const float (&b)[9], float c)
{
    pk_term row[16];
    pk_terms columns[16] = {};
    float sums[PK_COLUMNS_AT_ONCE] = {};
    for (int i = 0; i < 16; i++) {
        row[i] = pk_fp16_decoded(pk_shim_f16(i < 9 ? a[i] : 0));
        pk_terms_set(columns[i], ONE, pk_fp16_decoded(pk_shim_f16(i < 9 ? b[i] : 0)));
    }
    sums[ONE] = c;
    pk_tensor_core_add16(row, columns, sums);
    return sums[ONE];
}

} // namespace

int main()
{
    for (const auto &r : rows16)
        if (sum16(r.a, r.b, r.c) != r.want && failures++ < 10)
            std::printf("16, %s: %a, should be %a\n", r.what, (double)sum16(r.a, r.b, r.c), (double)r.want);
    for (const auto &r : rows)
        if (sum(r.a, r.b, r.c) != r.want && failures++ < 10)
            std::printf("%s: %a, should be %a\n", r.what, (double)sum(r.a, r.b, r.c), (double)r.want);
    if (!std::isnan(sum({INF}, {0}, 1)) || !std::isnan(sum({}, {}, NAN)))
        failures++;
    return report();
}
