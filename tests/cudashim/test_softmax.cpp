/* Softmax kernels on the host shim against float64, rows of every class of length. */
#include "ops/cuda/kernels.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace
{

std::mt19937 rng(7);
int failures;

std::vector<float> random_values(size_t n)
{
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> v(n);
    for (float &x : v)
        x = normal(rng);
    return v;
}

void expect(double got, double want, double tolerance, const char *what, size_t cols, size_t at)
{
    if (std::fabs(got - want) <= tolerance) /* a NaN is no smaller */
        return;
    if (failures++ < 10)
        std::printf("%s: cols %zu, element %zu is %g, float64 gives %g\n", what, cols, at, got, want);
}

void check_forward(size_t rows, size_t cols, size_t causal_seq)
{
    const std::vector<float> x = random_values(rows * cols);
    std::vector<float> y(x.size(), NAN);
    if (pk_k_softmax(nullptr, x.data(), y.data(), rows, cols, causal_seq))
        expect(1, 0, 0, "launch", cols, 0);
    for (size_t r = 0; r < rows; r++) {
        const size_t seen = causal_seq ? r % causal_seq + 1 : cols;
        double top = -INFINITY, sum = 0;
        for (size_t c = 0; c < seen; c++)
            top = std::fmax(top, x[r * cols + c]);
        for (size_t c = 0; c < seen; c++)
            sum += std::exp((double)x[r * cols + c] - top);
        for (size_t c = 0; c < cols; c++)
            expect(y[r * cols + c], c < seen ? std::exp((double)x[r * cols + c] - top) / sum : 0, 1e-6,
                   "softmax", cols, r * cols + c);
    }
}

void check_backward(size_t rows, size_t cols)
{
    const std::vector<float> p = random_values(rows * cols), dp = random_values(rows * cols);
    std::vector<float> ds(p.size(), NAN);
    if (pk_k_softmax_backward(nullptr, p.data(), dp.data(), ds.data(), rows, cols))
        expect(1, 0, 0, "launch", cols, 0);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0, size = 0;
        for (size_t c = 0; c < cols; c++) {
            sum += (double)p[r * cols + c] * dp[r * cols + c];
            size += std::fabs((double)p[r * cols + c] * dp[r * cols + c]);
        }
        for (size_t c = 0; c < cols; c++)
            expect(ds[r * cols + c], p[r * cols + c] * (dp[r * cols + c] - sum),
                   1e-6 * (1 + size * std::fabs(p[r * cols + c])), "softmax backward", cols, r * cols + c);
    }
}

} // namespace

int main()
{
    for (size_t cols :
         {1, 7, 32, 33, 64, 100, 128, 130, 256, 500, 1024, 1025, 2048, 4097, 8192, 8193, 9001}) {
        check_forward(cols > 2000 ? 2 : 9, cols, 0);
        check_backward(cols > 2000 ? 2 : 9, cols);
    }
    for (size_t seq : {1, 7, 33, 130})
        check_forward(3 * seq, seq, seq);
    std::printf("%d wrong\n", failures);
    return failures != 0;
}
