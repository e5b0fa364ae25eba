/* Long attention: sequences of thousands on the host shim, of which the first, the middle and the last block of each launch run, and the
 * relative L2 error of what these blocks stored: what rounding adds up to over many tiles. */
#pragma once

#include "attention.h"
#include "sparse.h"

#include <cstdlib>
#include <functional>

namespace
{

/* Relative L2 error of sums in fp32 over 4096 tokens. The kernels with ieee products have 1.1e-6 to 1.3e-6 for 64 features, those with
 * 3xtf32 products 4.7e-7 to 6.1e-7; where tensor cores add up all scores by themselves they have 9.9e-7 to 1.9e-6, and where they add up
 * everything 4e-5. */
constexpr double FP32_SUMS = 8e-7;

struct long_attention {
    size_t seq, dim;
    std::vector<float> q, k, v, d_o, o, lse;
    results dq, dk, dv;
    pk_attention at = {};

    /* What forward saves is given: no output, so that row sums are 0 also where their block did not run, and log-sum-exps as they are for keys
     * of many normally distributed numbers. */
    long_attention(size_t seq_, size_t dim_)
        : seq(seq_), dim(dim_), q(random_values(seq * dim)), k(random_values(seq * dim)),
          v(random_values(seq * dim)), d_o(random_values(seq * dim)), o(seq * dim), lse(seq), dq(seq * dim),
          dk(seq * dim), dv(seq * dim)
    {
        at.batch = 1, at.seq = seq, at.dim = dim, at.scale = 1 / std::sqrt((float)dim);
        at.q = q.data(), at.k = k.data(), at.v = v.data(), at.d_o = d_o.data();
        at.o = o.data(), at.lse = lse.data(), at.dq = dq.data(), at.dk = dk.data(), at.dv = dv.data();
        for (size_t i = 0; i < seq; i++)
            lse[i] = (float)(std::log((double)seq) + dot(q, i, q, i) * at.scale * at.scale / 2);
        std::fill(dq.data(), dq.data() + seq * dim, 0.0f);
    }
    double dot(const std::vector<float> &a, size_t i, const std::vector<float> &b, size_t j) const
    {
        double sum = 0;
        for (size_t c = 0; c < dim; c++)
            sum += (double)a[i * dim + c] * b[j * dim + c];
        return sum;
    }
    double score(size_t query, size_t key) const
    {
        return dot(q, query, k, key) * at.scale;
    }
};

/* Adds what row `i` should be to sum[dim]. */
using reference = std::function<void(size_t i, std::vector<double> &sum)>;

template <typename ROW> void add_row(std::vector<double> &sum, double factor, const ROW *row)
{
    for (size_t c = 0; c < sum.size(); c++)
        sum[c] += factor * row[c];
}

/* Of the rows that a launch stored, as many as three of its blocks own. `untouched` says what is in the others. */
template <typename UNTOUCHED>
double error_of_stored(const float *got, const long_attention &a, UNTOUCHED untouched, const reference &want,
                       const char *what)
{
    double error = 0, size = 0;
    size_t rows = 0;
    for (size_t i = 0; i < a.seq; i++) {
        if (untouched(got[i * a.dim]))
            continue;
        std::vector<double> sum(a.dim);
        want(i, sum);
        for (size_t c = 0; c < a.dim; c++) {
            const double off = got[i * a.dim + c] - sum[c];
            error += off * off, size += sum[c] * sum[c];
        }
        rows++;
    }
    expect((double)rows, 3.0 * (double)((a.seq + gridDim.x - 1) / gridDim.x), 0, what, a.seq, 0);
    const double relative = std::sqrt(error / size);
    std::printf("relative L2 error of %s, seq %zu, dim %zu: %.2g\n", what, a.seq, a.dim, relative);
    return relative;
}

inline bool is_nan(float x)
{
    return std::isnan(x);
}

inline bool is_zero(float x)
{
    return x == 0;
}

inline void check_long_forward(launcher *launch, const pk_chip &chip, size_t seq, size_t dim, double allowed)
{
    if (SANITIZED)
        return;
    long_attention a(seq, dim);
    results o(seq * dim);
    a.at.o = o.data();
    expect_launched(launch_sampled(launch, chip, a.at), "long forward", seq);
    const reference want = [&](size_t i, std::vector<double> &sum) {
        double weights = 0;
        for (size_t j = 0; j < seq; j++) {
            const double w = std::exp(a.score(i, j));
            add_row(sum, w, &a.v[j * dim]);
            weights += w;
        }
        for (double &x : sum)
            x /= weights;
    };
    expect(error_of_stored(o.data(), a, is_nan, want, "o"), 0, allowed, "error of o", seq, 0);
}

/* What `PROGRAM TOKENS` does instead of its tests, for lengths that take minutes: the error of a forward pass with 64 features. */
inline int only_long_forward(launcher *launch, const pk_chip &chip, const char *tokens, double allowed)
{
    check_long_forward(launch, chip, std::strtoul(tokens, nullptr, 10), 64, allowed);
    return report();
}

inline void check_long_backward(launcher *launch, const pk_chip &chip, size_t seq, size_t dim, double allowed)
{
    if (SANITIZED)
        return;
    long_attention a(seq, dim);
    expect_launched(launch_sampled(launch, chip, a.at), "long backward", seq);
    const auto weight = [&](size_t i, size_t j) { return std::exp(a.score(i, j) - a.lse[i]); };
    const auto d_score = [&](size_t i, size_t j) {
        return weight(i, j) * a.dot(a.d_o, i, a.v, j) * a.at.scale;
    };
    const reference dq = [&](size_t i, std::vector<double> &sum) {
        for (size_t j = 0; j < seq; j++)
            add_row(sum, d_score(i, j), &a.k[j * dim]);
    };
    const reference dk = [&](size_t j, std::vector<double> &sum) {
        for (size_t i = 0; i < seq; i++)
            add_row(sum, d_score(i, j), &a.q[i * dim]);
    };
    const reference dv = [&](size_t j, std::vector<double> &sum) {
        for (size_t i = 0; i < seq; i++)
            add_row(sum, weight(i, j), &a.d_o[i * dim]);
    };
    expect(error_of_stored(a.dq.data(), a, is_zero, dq, "dq"), 0, allowed, "error of dq", seq, 0);
    expect(error_of_stored(a.dk.data(), a, is_nan, dk, "dk"), 0, allowed, "error of dk", seq, 0);
    expect(error_of_stored(a.dv.data(), a, is_nan, dv, "dv"), 0, allowed, "error of dv", seq, 0);
}

/* With five products every block of keys adds to a query. Parts of PART_STEP queries, of which the first alone run, show what that adds up to. */
inline void check_long_five(launcher *launch, const pk_chip &chip, size_t seq, size_t dim, double allowed)
{
    if (SANITIZED)
        return;
    long_attention a(seq, dim);
    const size_t rows = PK_FLASH_PART_STEP;
    const pk_flash_parts parts = {seq / rows, rows, 1};
    sparse_output memory(PK_FP32, seq * (2 * parts.n * dim + 1));
    pk_shim_every = (unsigned)parts.n, pk_shim_spared = 1; /* row sums are of all queries */
    expect_launched(launch(nullptr, &chip, &a.at, &parts, static_cast<float *>(memory.data())), "long five",
                    seq);
    pk_shim_every = 0;
    double error = 0, size = 0;
    for (size_t i = 0; i < rows; i++) {
        std::vector<double> sum(dim);
        for (size_t j = 0; j < seq; j++)
            add_row(sum, std::exp(a.score(i, j) - a.lse[i]) * a.dot(a.d_o, i, a.v, j) * a.at.scale,
                    &a.k[j * dim]);
        for (size_t c = 0; c < dim; c++) {
            const double off = a.dq[i * dim + c] - sum[c];
            error += off * off, size += sum[c] * sum[c];
        }
    }
    std::printf("relative L2 error of dq by five products, seq %zu, dim %zu: %.2g\n", seq, dim,
                std::sqrt(error / size));
    expect(std::sqrt(error / size), 0, allowed, "error of dq by five products", seq, 0);
}

/* What `PROGRAM TOKENS` does instead of its tests: the errors of a backward pass with 64 features. */
inline int only_long_backward(launcher *launch, const pk_chip &chip, const char *tokens, double allowed)
{
    const size_t seq = std::strtoul(tokens, nullptr, 10);
    check_long_five(launch, chip, seq, 64, allowed);
    check_long_backward(launch, chip, seq, 64, allowed);
    return report();
}

} // namespace
