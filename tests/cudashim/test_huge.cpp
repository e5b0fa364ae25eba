/* Arrays of more than 2^32 elements on the host shim: the first, the middle and the last block of each launch, and every element that they
 * wrote. Indices of 32 bits, signed or not, would write elsewhere. */
#include "check.h"
#include "sparse.h"

#include <functional>

extern bool pk_shim_sampled; /* cuda_shim.h */

namespace
{

constexpr size_t BEYOND = ((size_t)1 << 33) + 5; /* so that the middle is beyond 2^32 */
constexpr size_t SEQ = 1 << 16, BATCH = 3;       /* scores of attention: 3 * 2^32 */

/* What was written is right, and something was in the first, the middle and the last part. */
void check(const char *what, const sparse_output &y, size_t n, double tolerance,
           const std::function<double(size_t)> &want)
{
    size_t written[5] = {};
    y.each_written([&](size_t i, float v) {
        written[i / (n / 5 + 1)]++;
        const double right = want(i);
        expect(v, right, tolerance * std::fabs(right), what, n, i);
    });
    for (int part : {0, 2, 4})
        if (!written[part] && failures++ < 10)
            std::printf("%s of size %zu: nothing was written in fifth %d\n", what, n, part + 1);
    for (int part : {1, 3})
        if (written[part] && failures++ < 10)
            std::printf("%s of size %zu: fifth %d was written, where no block was run\n", what, n, part + 1);
}

void scale(enum pk_dtype type)
{
    const sparse_input x(type, BEYOND);
    sparse_output y(type, BEYOND);
    expect_launched(pk_k_scale(nullptr, type, 0.5f, const_cast<sparse_input &>(x).data(), y.data(), BEYOND),
                    "scale", BEYOND);
    check("scale", y, BEYOND, rounding(type), [&](size_t i) { return 0.5 * x.value(i); });
}

void narrow()
{
    sparse_input x(PK_FP32, BEYOND);
    sparse_output y(PK_BF16, BEYOND);
    expect_launched(
        pk_k_narrow(nullptr, static_cast<float *>(x.data()), static_cast<uint16_t *>(y.data()), BEYOND),
        "narrow", BEYOND);
    check("narrow", y, BEYOND, rounding(PK_BF16), [&](size_t i) { return x.value(i); });
}

void causal_mask(enum pk_dtype type)
{
    constexpr size_t N = BATCH * SEQ * SEQ;
    sparse_input x(type, N);
    sparse_output y(type, N);
    expect_launched(pk_k_causal_mask(nullptr, type, x.data(), y.data(), BATCH, SEQ), "causal mask", N);
    check("causal mask", y, N, 0, [&](size_t i) { return i % SEQ > i / SEQ % SEQ ? -INFINITY : x.value(i); });
}

/* A sum over the row of element i, made once a row. */
struct of_row {
    size_t cols;
    std::function<double(size_t)> term;
    size_t row = SIZE_MAX;
    double sum = 0;

    double operator()(size_t i, size_t seen)
    {
        if (i / cols != row) {
            row = i / cols;
            sum = 0;
            for (size_t c = 0; c < seen; c++)
                sum += term(row * cols + c);
        }
        return sum;
    }
};

void softmax(enum pk_dtype type, size_t rows, size_t cols, size_t causal_seq)
{
    sparse_input x(type, rows * cols);
    sparse_output y(type, rows * cols);
    expect_launched(pk_k_softmax(nullptr, type, x.data(), y.data(), rows, cols, causal_seq), "softmax", cols);
    of_row sum = {cols, [&](size_t i) { return std::exp((double)x.value(i)); }};
    check("softmax", y, rows * cols, 1e-4 + rounding(type), [&](size_t i) {
        const size_t seen = causal_seq ? i / cols % causal_seq + 1 : cols;
        return i % cols < seen ? std::exp((double)x.value(i)) / sum(i, seen) : 0;
    });
}

/* p - 2 and dp are the same numbers. */
void softmax_backward(enum pk_dtype type, size_t rows, size_t cols)
{
    sparse_input p(type, rows * cols), dp(type, rows * cols);
    sparse_output ds(type, rows * cols);
    expect_launched(pk_k_softmax_backward(nullptr, type, p.data(), dp.data(), ds.data(), rows, cols),
                    "softmax backward", cols);
    of_row sum = {cols, [&](size_t i) { return (double)p.value(i) * dp.value(i); }};
    check("softmax backward", ds, rows * cols, 1e-4 + rounding(type),
          [&](size_t i) { return p.value(i) * (dp.value(i) - sum(i, cols)); });
}

/* Every second row of a matrix, to one without gaps. */
void copy2d(size_t cols)
{
    const size_t rows = BEYOND / cols;
    sparse_input x(PK_FP32, 2 * rows * cols);
    sparse_output y(PK_FP32, rows * cols);
    const pk_copy2d c = {
        x.data(), y.data(), rows, cols * sizeof(float), 2 * cols * sizeof(float), cols * sizeof(float)};
    expect_launched(pk_k_copy2d(nullptr, &c, 1), "copy2d", cols);
    check("copy2d", y, rows * cols, 0, [&](size_t i) { return x.value(i / cols * 2 * cols + i % cols); });
}

void fill(size_t cols)
{
    const size_t rows = BEYOND / cols, columns = 3 * cols;
    sparse_output y(PK_FP32, rows * cols);
    const pk_fill f = {y.data(), rows, cols, columns, 7, PK_FP32};
    expect_launched(pk_k_fill(nullptr, &f, 1), "fill", cols);
    check("fill", y, rows * cols, 0,
          [&](size_t i) { return pk_fill_value(7, i / cols * columns + i % cols); });
}

} // namespace

int main()
{
    pk_shim_sampled = true;
    narrow();
    for (size_t cols : {16, 1001, 70001}) { /* units of 16 and 4 bytes */
        copy2d(cols);
        fill(cols);
    }
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        scale(type);
        causal_mask(type);
        softmax(type, BATCH * SEQ, SEQ, 0);
        softmax(type, BATCH * SEQ, SEQ, SEQ);
        softmax_backward(type, BATCH * SEQ, SEQ);
        for (size_t cols : {7, 1000, 8000}) { /* rows of a warp, and of a block */
            softmax(type, BEYOND / cols, cols, 0);
            softmax_backward(type, BEYOND / cols, cols);
        }
    }
    return report();
}
