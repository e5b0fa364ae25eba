/* Softmax kernels on the host shim against float64, rows of every class of length. */
#include "check.h"

namespace
{

void check_forward(enum pk_dtype type, size_t rows, size_t cols, size_t causal_seq)
{
    std::vector<float> values = random_values(rows * cols, 3);
    if (!causal_seq && cols > 2) /* a masked entry is the first that its thread sees */
        values[1] = -INFINITY;
    stored in(type, values);
    const std::vector<float> x = in.wide;
    results y(x.size(), type);
    expect_launched(pk_k_softmax(nullptr, type, in.data(), y.data(), rows, cols, causal_seq), "softmax",
                    cols);
    expect_launched(pk_k_softmax(nullptr, type, in.data(), in.data(), rows, cols, causal_seq), "softmax",
                    cols);
    for (size_t r = 0; r < rows; r++) {
        const size_t seen = causal_seq ? r % causal_seq + 1 : cols;
        double top = -INFINITY, sum = 0;
        for (size_t c = 0; c < seen; c++)
            top = std::fmax(top, x[r * cols + c]);
        for (size_t c = 0; c < seen; c++)
            sum += std::exp((double)x[r * cols + c] - top);
        for (size_t c = 0; c < cols; c++) {
            const size_t at = r * cols + c;
            const double want = c < seen ? std::exp((double)x[at] - top) / sum : 0;
            expect(y[at], want, 1e-6 + rounding(type) * want, "softmax", cols, at);
            expect(in[at], y[at], 0, "softmax in place", cols, at);
        }
    }
}

void check_backward(enum pk_dtype type, size_t rows, size_t cols)
{
    stored in_p(type, random_values(rows * cols, 3)), in_dp(type, random_values(rows * cols, 3));
    const std::vector<float> p = in_p.wide, dp = in_dp.wide;
    results ds(p.size(), type);
    expect_launched(pk_k_softmax_backward(nullptr, type, in_p.data(), in_dp.data(), ds.data(), rows, cols),
                    "softmax backward", cols);
    expect_launched(pk_k_softmax_backward(nullptr, type, in_p.data(), in_dp.data(), in_dp.data(), rows, cols),
                    "softmax backward", cols);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0, size = 0;
        for (size_t c = 0; c < cols; c++) {
            sum += (double)p[r * cols + c] * dp[r * cols + c];
            size += std::fabs((double)p[r * cols + c] * dp[r * cols + c]);
        }
        for (size_t c = 0; c < cols; c++) {
            const size_t at = r * cols + c;
            const double want = p[at] * (dp[at] - sum);
            expect(ds[at], want, 1e-6 * (1 + size * std::fabs(p[at])) + rounding(type) * std::fabs(want),
                   "softmax backward", cols, at);
            expect(in_dp[at], ds[at], 0, "softmax backward in place", cols, at);
        }
    }
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (size_t cols :
             {1, 7, 32, 33, 64, 100, 128, 130, 256, 500, 1024, 1025, 2048, 4097, 8192, 8193, 9001}) {
            check_forward(type, cols > 2000 ? 2 : 9, cols, 0);
            check_backward(type, cols > 2000 ? 2 : 9, cols);
        }
        for (size_t seq : {1, 7, 33, 64, 130, 136})
            check_forward(type, 3 * seq, seq, seq);
        for (size_t cols :
             {9004, 16392,
              32776}) { /* packs: held by 512 threads in one type, in the other, and too long for both */
            check_forward(type, 2, cols, 0);
            check_forward(type, WATCHED ? 2 : 11, cols, cols);
            check_backward(type, 2, cols);
        }
    }
    return report();
}
