/* Softmax kernels on the host shim against float64, rows of every class of length. */
#include "check.h"

namespace
{

void check_forward(size_t rows, size_t cols, size_t causal_seq)
{
    const std::vector<float> x = random_values(rows * cols, 3);
    results y(x.size());
    expect_launched(pk_k_softmax(nullptr, x.data(), y.data(), rows, cols, causal_seq), "softmax", cols);
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
    const std::vector<float> p = random_values(rows * cols, 3), dp = random_values(rows * cols, 3);
    results ds(p.size());
    expect_launched(pk_k_softmax_backward(nullptr, p.data(), dp.data(), ds.data(), rows, cols),
                    "softmax backward", cols);
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
    return report();
}
