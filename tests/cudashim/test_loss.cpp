/* Loss of kernels of its own on the host shim against float64: the targets' entries, the gradient, the mean. */
#include "layers.h"

namespace
{

std::vector<int32_t> targets_of(size_t rows, size_t cols)
{
    std::vector<int32_t> targets(rows);
    for (int32_t &t : targets)
        t = (int32_t)pk_rng_below(&rng, cols);
    return targets;
}

void entries(size_t rows, size_t cols)
{
    const std::vector<float> logp = random_values(rows * cols);
    const std::vector<int32_t> targets = targets_of(rows, cols);
    results losses(rows);
    const pk_nll x = {rows, cols, logp.data(), targets.data(), losses.data()};
    expect_launched(pk_k_nll(nullptr, &x), "nll", rows);
    for (size_t r = 0; r < rows; r++)
        expect(losses[r], -logp[r * cols + (size_t)targets[r]], 0, "nll", rows, r);
}

void gradient(enum pk_dtype type, size_t rows, size_t cols)
{
    constexpr float SCALE = 0.125f;
    const std::vector<float> logp = random_values(rows * cols);
    const std::vector<int32_t> targets = targets_of(rows, cols);
    results d(rows * cols, type);
    const pk_nll_backward x = {rows, cols, type, logp.data(), targets.data(), SCALE, d.data()};
    expect_launched(pk_k_nll_backward(nullptr, &x), "nll backward", cols);
    for (size_t i = 0; i < rows * cols; i++) {
        const double p = std::exp((double)logp[i]),
                     want = (p - (i % cols == (size_t)targets[i / cols])) * SCALE;
        expect(d[i], want, near(type, want, p), "nll backward", cols, i);
    }
}

void mean(size_t n)
{
    const std::vector<float> x = random_values(n);
    results out(1);
    double want = 0;
    for (float v : x)
        want += v / (double)n;
    expect_launched(pk_k_mean(nullptr, x.data(), n, out.data()), "mean", n);
    expect(out[0], want, 1e-6, "mean", n, 0);
}

} // namespace

int main()
{
    for (size_t rows : {0, 1, 255, 257, 1000})
        entries(rows, 13);
    for (enum pk_dtype type : {PK_FP32, PK_BF16})
        for (size_t cols : {1, 7, 64, 1000, 5000})
            gradient(type, 3, cols);
    for (size_t n : {1, 7, 1024, 5003, 20000})
        mean(n);
    return report();
}
