/* Elementwise kernels on the host shim, less than a block to more than the grid. */
#include "check.h"

namespace
{

void check_scale(size_t n)
{
    const std::vector<float> x = random_values(n);
    results y(n);
    expect_launched(pk_k_scale(nullptr, -0.3f, x.data(), y.data(), n), "scale", n);
    for (size_t i = 0; i < n; i++)
        expect(y[i], -0.3f * x[i], 0, "scale", n, i);
}

void check_scale_in_place(size_t n)
{
    const std::vector<float> x = random_values(n);
    std::vector<float> y = x;
    expect_launched(pk_k_scale(nullptr, 7, y.data(), y.data(), n), "scale in place", n);
    for (size_t i = 0; i < n; i++)
        expect(y[i], 7 * x[i], 0, "scale in place", n, i);
}

void check_causal_mask(size_t batch, size_t seq)
{
    const std::vector<float> x = random_values(batch * seq * seq);
    results y(x.size());
    expect_launched(pk_k_causal_mask(nullptr, x.data(), y.data(), batch, seq), "causal mask", seq);
    for (size_t b = 0; b < batch; b++)
        for (size_t i = 0; i < seq; i++)
            for (size_t j = 0; j < seq; j++) {
                const size_t at = (b * seq + i) * seq + j;
                expect(y[at], j > i ? -INFINITY : x[at], 0, "causal mask", seq, at);
            }
}

} // namespace

int main()
{
    for (size_t n : {0, 1, 31, 255, 256, 257, 1000, 5003})
        check_scale(n);
    check_scale(132 * 16 * 256 + 333); /* more than the grid has threads */
    check_scale_in_place(1001);
    for (size_t seq : {1, 2, 7, 33, 130})
        check_causal_mask(3, seq);
    check_causal_mask(0, 5);
    return report();
}
