/* Norm backward on the host shim against float64: rows of every class of length, fewer and more rows than parts, in place, aligned or not. */
#include "layers.h"

namespace
{

enum where { APART, OVER_D_Y, OVER_D_S };

struct problem {
    enum pk_dtype type;
    size_t rows, cols, parts, off;
    bool past; /* a gradient past the norm */
    enum where d_x;
    int added;
};

void check(const problem &p)
{
    if (WATCHED && (p.rows * p.cols > 10000 || (p.cols > 600 && (!p.off || p.d_x != OVER_D_Y))))
        return; /* 32 columns are a block of 1,024 threads, and each barrier looks at each pair of them */
    const size_t n = p.rows * p.cols;
    array s(p.type, n, p.off), d_y(p.type, n), d_s(p.type, n), w(PK_FP32, p.cols);
    std::vector<float> rstd = random_values(p.rows);
    results d_x(n, p.type), d_w(p.cols), partial(p.parts * p.cols);
    const auto got = [&](size_t i) {
        return p.d_x == OVER_D_Y ? d_y[i] : p.d_x == OVER_D_S ? d_s[i] : d_x[i];
    };
    pk_norm_backward b = {p.rows,
                          p.cols,
                          p.type,
                          s.data(),
                          w.floats(),
                          rstd.data(),
                          d_y.data(),
                          p.past ? d_s.data() : nullptr,
                          p.d_x == OVER_D_Y   ? d_y.data()
                          : p.d_x == OVER_D_S ? d_s.data()
                                              : d_x.data(),
                          d_w.data(),
                          p.added};
    for (size_t c = 0; c < p.cols; c++)
        d_w.data()[c] = (float)c;
    expect_launched(pk_k_norm_backward(nullptr, &b, partial.data(), p.parts), "norm backward", p.cols);
    std::vector<double> want_w(p.cols), size_w(p.cols);
    for (size_t r = 0; r < p.rows; r++) {
        double mean = 0, size = 0;
        for (size_t c = 0; c < p.cols; c++) {
            const size_t i = r * p.cols + c;
            const double normed = (double)s.wide[i] * rstd[r], d = (double)d_y.wide[i] * w.wide[c];
            mean += d * normed / (double)p.cols;
            size += std::fabs(d * normed) / (double)p.cols;
            want_w[c] += d_y.wide[i] * normed;
            size_w[c] += std::fabs(d_y.wide[i] * normed);
        }
        for (size_t c = 0; c < p.cols; c++) {
            const size_t i = r * p.cols + c;
            const double normed = (double)s.wide[i] * rstd[r], d = (double)d_y.wide[i] * w.wide[c],
                         past = p.past ? d_s.wide[i] : 0, want = rstd[r] * (d - normed * mean) + past;
            expect(got(i), want,
                   near(p.type, want,
                        std::fabs(rstd[r]) * (std::fabs(d) + std::fabs(normed) * size) + std::fabs(past)),
                   "norm backward", p.cols, i);
        }
    }
    for (size_t c = 0; c < p.cols; c++)
        expect(d_w[c], want_w[c] + (p.added ? (double)c : 0),
               near(PK_FP32, want_w[c], size_w[c] + (p.added ? (double)c : 0)), "d_w", p.cols, c);
}

} // namespace

/* Packs a row, one more than each class but the last holds. */
void check_classes(enum pk_dtype type, std::initializer_list<size_t> packs)
{
    const size_t each = 16 / pk_dtype_bytes(type);
    for (size_t n : packs)
        check({type, n > 512 ? 3u : 21u, n * each, 2, 0, n % 2 == 1, APART, 0});
}

int main()
{
    check_classes(PK_FP32, {1, 65, 129, 193, 321, 513, 1025, 2049});
    check_classes(PK_BF16, {1, 65, 129, 193});
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (size_t cols : {1, 7, 130, 333})
            check({type, 21, cols, 2, 0, true, APART, 0}); /* no whole packs */
        for (size_t cols : {64, 768, 2050})
            check({type, 9, cols, 3, 1, false, APART, 0}); /* aligned to an element */
        for (size_t off : {0, 1})
            for (size_t cols : {9, 768, off ? 2050 : 1000}) {
                check({type, 3, cols, 5, off, true, OVER_D_Y, 0}); /* parts without a row */
                check({type, 3, cols, 1, off, true, OVER_D_S, 0});
            }
        check({type, 300, 40, 35, 0, true, APART, 0});
        check({type, 300, 40, 35, 0, true, APART, 1});
        check({type, 0, 40, 1, 0, false, APART, 0});
    }
    return report();
}
