/* Maps on the host shim against float64: into an array apart and over each of their own, aligned or not. */
#include "layers.h"

namespace
{

double mapped(enum pk_map map, double a, double b)
{
    const double s = 1 / (1 + std::exp(-a));
    return map == PK_MAP_ADD    ? a + b
           : map == PK_MAP_MUL  ? a * b
           : map == PK_MAP_SILU ? a * s
                                : b * s * (1 + a * (1 - s));
}

/* Into an array apart, and over a or b. */
void check_map(enum pk_map map, enum pk_dtype type, size_t n, size_t off)
{
    array a(type, n, off), b(type, n), over_a(type, n), over_b(type, n);
    results y(n, type);
    const bool two = map != PK_MAP_SILU;
    expect_launched(pk_k_map(nullptr, map, type, a.data(), two ? b.data() : nullptr, y.data(), n), "map", n);
    expect_launched(pk_k_map(nullptr, map, type, over_a.data(), b.data(), over_a.data(), n), "map", n);
    expect_launched(pk_k_map(nullptr, map, type, a.data(), over_b.data(), over_b.data(), n), "map", n);
    for (size_t i = 0; i < n; i++) {
        const double want = mapped(map, a.wide[i], b.wide[i]), over = mapped(map, over_a.wide[i], b.wide[i]),
                     other = mapped(map, a.wide[i], over_b.wide[i]);
        expect(y[i], want, near(type, want, std::fabs(b.wide[i])), "map", n, i);
        expect(over_a[i], over, near(type, over, std::fabs(b.wide[i])), "map over a", n, i);
        expect(over_b[i], other, near(type, other, std::fabs(over_b.wide[i])), "map over b", n, i);
    }
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16})
        for (int map = 0; map < PK_MAPS; map++)
            for (size_t n : {0, 1, 7, 1001, 4096, 9003})
                for (size_t off : {0, 1})
                    check_map((enum pk_map)map, type, n, off);
    return report();
}
