/* Norm on the host shim against float64: rows of every class of length, with and without a residual, in place, aligned or not. */
#include "layers.h"

namespace
{

constexpr float EPS = 1e-5f;

/* One element of s as stored. */
float stored_sum(enum pk_dtype type, float x, float delta)
{
    return type == PK_BF16 ? pk_bf16_to_float(pk_bf16_of_float(x + delta)) : x + delta;
}

void compare(enum pk_dtype type, size_t rows, size_t cols, const std::vector<float> &s,
             const std::vector<float> &w, const results &y, const results &rstd)
{
    for (size_t r = 0; r < rows; r++) {
        double squares = 0;
        for (size_t c = 0; c < cols; c++)
            squares += (double)s[r * cols + c] * s[r * cols + c];
        const double want = 1 / std::sqrt(squares / (double)cols + EPS);
        expect(rstd[r], want, 1e-6 * want, "rstd", cols, r);
        for (size_t c = 0; c < cols; c++) {
            const double n = s[r * cols + c] * want * w[c];
            expect(y[r * cols + c], n, near(type, n, 0), "norm", cols, r * cols + c);
        }
    }
}

void plain(enum pk_dtype type, size_t rows, size_t cols, size_t off)
{
    array x(type, rows * cols, off), w(PK_FP32, cols);
    results y(rows * cols, type), rstd(rows);
    pk_norm n = {rows, cols, EPS, type, x.data(), nullptr, nullptr, w.floats(), y.data(), rstd.data()};
    expect_launched(pk_k_norm(nullptr, &n), "norm", cols);
    compare(type, rows, cols, x.wide, w.wide, y, rstd);
}

/* The sum over x, or over delta. */
void with_residual(enum pk_dtype type, size_t rows, size_t cols, bool over_delta)
{
    array x(type, rows * cols), delta(type, rows * cols), w(PK_FP32, cols);
    array &sum = over_delta ? delta : x;
    results y(rows * cols, type), rstd(rows);
    pk_norm n = {rows,         cols,       EPS,        type,     x.data(),
                 delta.data(), sum.data(), w.floats(), y.data(), rstd.data()};
    expect_launched(pk_k_norm(nullptr, &n), "norm", cols);
    std::vector<float> s(rows * cols);
    for (size_t i = 0; i < s.size(); i++) {
        s[i] = stored_sum(type, x.wide[i], delta.wide[i]);
        expect(sum[i], s[i], 0, "residual sum", cols, i);
    }
    compare(type, rows, cols, s, w.wide, y, rstd);
}

/* Where rstd is not wanted. */
void without_rstd()
{
    array x(PK_FP32, 64), w(PK_FP32, 32);
    results y(64);
    pk_norm n = {2, 32, EPS, PK_FP32, x.data(), nullptr, nullptr, w.floats(), y.data(), nullptr};
    expect_launched(pk_k_norm(nullptr, &n), "norm", 32);
    double squares = 0;
    for (size_t c = 0; c < 32; c++)
        squares += (double)x.wide[c] * x.wide[c];
    expect(y[5], x.wide[5] * w.wide[5] / std::sqrt(squares / 32 + EPS), 1e-5, "norm without rstd", 32, 5);
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (size_t cols : {1, 7, 64, 130, 257, 512, 1280, 1544, 4096, 16384 + 8})
            plain(type, cols > 2000 ? 2 : 9, cols, 0);
        for (size_t cols : {64, 768, 8200})
            plain(type, 3, cols, 1); /* aligned to an element */
        for (size_t cols : {9, 768, 5000, 17000}) {
            with_residual(type, 3, cols, false);
            with_residual(type, 3, cols, true);
        }
    }
    without_rstd();
    return report();
}
