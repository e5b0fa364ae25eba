/* Cross-entropy on the host shim against float64: rows of every class of length, padded or not, in place, forward only; log-softmax; logits
 * that overflow, are all far below zero, are masked, or are no numbers. */
#include "layers.h"

namespace
{

struct problem {
    enum pk_dtype type;
    size_t rows, cols, stride;
    bool in_place, forward_only;
};

double lse(const float *x, size_t cols)
{
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < cols; c++)
        top = std::fmax(top, x[c]);
    for (size_t c = 0; c < cols; c++)
        sum += std::exp(x[c] - top);
    return top + std::log(sum);
}

void check(const problem &p)
{
    if (WATCHED && p.rows * p.cols > 10000)
        return;
    constexpr float SCALE = 0.25f;
    array in(p.type, p.rows * p.stride, 0, 3);
    results d(p.rows * p.stride, p.type), losses(p.rows);
    std::vector<int32_t> targets(p.rows);
    for (size_t r = 0; r < p.rows; r++)
        targets[r] = (int32_t)(r == 1 ? p.cols - 1 : pk_rng_below(&rng, p.cols));
    void *gradient = p.forward_only ? nullptr : p.in_place ? in.data() : d.data();
    const pk_cross_entropy x = {p.rows,         p.cols,        p.stride, p.type,  in.data(),
                                targets.data(), losses.data(), SCALE,    gradient};
    expect_launched(pk_k_cross_entropy(nullptr, &x), "cross-entropy", p.cols);
    for (size_t r = 0; r < p.rows; r++) {
        const float *row = &in.wide[r * p.stride];
        const double all = lse(row, p.cols);
        expect(losses[r], all - row[targets[r]], 2e-6 * (1 + std::fabs(all)), "loss", p.cols, r);
        for (size_t c = 0; c < p.stride && gradient; c++) {
            const size_t at = r * p.stride + c;
            const double one = c == (size_t)targets[r],
                         want = c < p.cols ? (std::exp(row[c] - all) - one) * SCALE : 0;
            expect(p.in_place ? in[at] : d[at], want, near(p.type, want, want ? std::exp(row[c] - all) : 0),
                   "d_logits", p.cols, at);
        }
    }
}

void check_log_softmax(enum pk_dtype type, size_t rows, size_t cols)
{
    array in(type, rows * cols, 0, 3);
    results logp(rows * cols);
    const pk_log_softmax x = {rows, cols, type, in.data(), logp.data()};
    expect_launched(pk_k_log_softmax(nullptr, &x), "log-softmax", cols);
    for (size_t r = 0; r < rows; r++) {
        const double all = lse(&in.wide[r * cols], cols);
        for (size_t c = 0; c < cols; c++)
            expect(logp[r * cols + c], in.wide[r * cols + c] - all, 2e-6 * (4 + std::fabs(all)),
                   "log-softmax", cols, r * cols + c);
    }
}

/* Rows of one kind of number each; the length decides whether they are held or walked. */
void extremes(size_t cols)
{
    enum { LARGE, LOW, MASKED, NAN_IN, ROWS };
    std::vector<float> x = random_values(ROWS * cols);
    for (size_t c = 0; c < cols; c++) {
        x[LARGE * cols + c] = c == 3 ? 1000 : 0;
        x[LOW * cols + c] = -2000;
        if (c % 3 || c < 600)
            x[MASKED * cols + c] = c == 2 ? 1.0f : -INFINITY;
    }
    x[NAN_IN * cols + cols / 2] = NAN;
    const int32_t targets[ROWS] = {0, 1, 2, 3};
    results d(ROWS * cols), losses(ROWS);
    const pk_cross_entropy e = {ROWS, cols, cols, PK_FP32, x.data(), targets, losses.data(), 1, d.data()};
    expect_launched(pk_k_cross_entropy(nullptr, &e), "cross-entropy of extremes", cols);
    expect(losses[LARGE], 1000, 1e-3, "loss of a large logit", cols, 0);
    expect(d[LARGE * cols], -1, 0, "gradient of a large logit", cols, 0);
    expect(losses[LOW], std::log((double)cols), 1e-5, "loss of low logits", cols, 1);
    const double all = lse(&x[MASKED * cols], cols);
    expect(losses[MASKED], all - 1, 1e-5, "loss of masked logits", cols, 2);
    expect(d[MASKED * cols + 4], 0, 0, "gradient of a masked logit", cols, 2);
    if (!std::isnan(losses[NAN_IN]) && failures++ < 10)
        std::printf("a row of %zu with a NaN has the loss %g\n", cols, (double)losses[NAN_IN]);
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (size_t cols : {1, 7, 64, 513, 1000, 3001, 5001, 10000, 33000})
            for (size_t pad : {0, 8})
                check({type, cols > 2000 ? 2u : 9u, cols, cols + pad, pad != 0, false});
        check({type, 2, 10000, 10112, true, false}); /* a vocabulary as it is padded */
        check({type, 2, 10001, 10008, false, false});
        check({type, 2, 10001, 10008, false, true});
        check({type, 2, 40001, 40064, true, false});
        for (size_t cols : {7, 512, 1000, 9001, 34000})
            check_log_softmax(type, 2, cols);
    }
    for (size_t cols : {1000, 40000})
        extremes(cols);
    return report();
}
