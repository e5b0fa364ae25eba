/* Elementwise kernels on the host shim: less than a block to several, aligned to packs or not. */
#include "layers.h"

namespace
{

void check_scale(enum pk_dtype type, size_t n, size_t off = 0)
{
    array x(type, n, off);
    results y(n, type);
    expect_launched(pk_k_scale(nullptr, type, -0.3f, x.data(), y.data(), n), "scale", n);
    for (size_t i = 0; i < n; i++) {
        const float want = -0.3f * x.wide[i];
        expect(y[i], want, rounding(type) * std::fabs(want), "scale", n, i);
    }
}

void check_scale_in_place(enum pk_dtype type, size_t n)
{
    stored x(type, random_values(n));
    const std::vector<float> before = x.wide;
    expect_launched(pk_k_scale(nullptr, type, 0.5f, x.data(), x.data(), n), "scale in place", n);
    for (size_t i = 0; i < n; i++)
        expect(x[i], 0.5f * before[i], 0, "scale in place", n, i);
}

void check_causal_mask(enum pk_dtype type, size_t batch, size_t seq)
{
    stored x(type, random_values(batch * seq * seq));
    results y(x.wide.size(), type);
    expect_launched(pk_k_causal_mask(nullptr, type, x.data(), y.data(), batch, seq), "causal mask", seq);
    for (size_t b = 0; b < batch; b++)
        for (size_t i = 0; i < seq; i++)
            for (size_t j = 0; j < seq; j++) {
                const size_t at = (b * seq + i) * seq + j;
                expect(y[at], j > i ? -INFINITY : x.wide[at], 0, "causal mask", seq, at);
            }
}

void check_narrow(size_t n)
{
    const std::vector<float> x = random_values(n);
    results y(n, PK_BF16);
    expect_launched(pk_k_narrow(nullptr, x.data(), reinterpret_cast<uint16_t *>(y.data()), n), "narrow", n);
    for (size_t i = 0; i < n; i++)
        expect(y[i], x[i], rounding(PK_BF16) * std::fabs(x[i]), "narrow", n, i);
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (size_t n : {0, 1, 31, 255, 256, 257, 1000, 5003})
            check_scale(type, n);
        for (size_t n : {1, 8, 5003})
            check_scale(type, n, 1);
        check_scale_in_place(type, 1001);
        for (size_t seq : {1, 2, 7, 8, 33, 64, 130})
            check_causal_mask(type, 3, seq);
        if (!WATCHED)
            check_causal_mask(type, 1, 1031);
        check_causal_mask(type, 0, 5);
    }
    check_causal_mask(PK_FP32, 1, WATCHED ? 515 : 2052); /* two pieces a row: of elements, of packs */
    for (size_t n : {0, 1, 257, 5003})
        check_narrow(n);
    return report();
}
