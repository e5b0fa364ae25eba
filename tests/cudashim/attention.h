/* Attention: a problem for the flash kernels, its results poisoned, and what float64 says of them. */
#pragma once

#include "check.h"
#include "cuda_shim.h"
#include "unit/ops/reference.h"

namespace
{

constexpr size_t HOPPER_SHARED = 227 << 10, AMPERE_SHARED = 163 << 10;

/* What the tiles of a launch depend on: with no multiprocessors to fill the largest that fit are taken, with many the smallest. For two
 * problems of 130 tokens these numbers are served by every size of tile. */
const pk_chip chips[] = {{0, HOPPER_SHARED},  {0, AMPERE_SHARED},  {3, HOPPER_SHARED},  {6, HOPPER_SHARED},
                         {10, HOPPER_SHARED}, {14, HOPPER_SHARED}, {132, HOPPER_SHARED}};

/* Whether this program checks a problem of that size: without a sanitizer any, with one those of at most so many products. */
inline bool is_checked(size_t batch, size_t seq, size_t dim, size_t most_for_memory, size_t most_for_races)
{
    const size_t products = batch * seq * seq * dim;
    return products <= (WATCHED ? most_for_races : SANITIZED ? most_for_memory : products);
}

using launcher = int(pk_stream s, const pk_chip *chip, const pk_attention *at, const pk_flash_parts *parts,
                     float *memory);

/* What blocks see, not cut. */
inline int launch_whole(launcher *launch, const pk_chip &chip, const pk_attention &at)
{
    const pk_flash_parts whole = {1, at.seq, 0};
    return launch(nullptr, &chip, &at, &whole, nullptr);
}

/* In parts of `rows`, each of `floats` for a token in memory that is poisoned and as large as it has to be. */
inline int launch_in_parts(launcher *launch, const pk_chip &chip, const pk_attention &at, size_t rows,
                           size_t floats)
{
    const pk_flash_parts parts = {(at.seq + rows - 1) / rows, rows, 0};
    results memory(parts.n * at.batch * at.seq * floats);
    return launch(nullptr, &chip, &at, &parts, memory.data());
}

/* The backward pass with five products; rows as above, 0 = not cut. */
inline int launch_five(launcher *launch, const pk_chip &chip, const pk_attention &at, size_t rows = 0)
{
    const size_t n = rows ? (at.seq + rows - 1) / rows : 1, tokens = at.batch * at.seq;
    const pk_flash_parts parts = {n, rows ? rows : at.seq, 1};
    results memory(tokens * (n > 1 ? 2 * n * at.dim + 1 : 1));
    return launch(nullptr, &chip, &at, &parts, memory.data());
}

inline int launch_sampled(launcher *launch, const pk_chip &chip, const pk_attention &at)
{
    pk_shim_shared_most = chip.shared_bytes;
    pk_shim_sampled = true;
    const int rc = launch_whole(launch, chip, at);
    pk_shim_sampled = false;
    return rc;
}

/* The tiles that a chip of 132 multiprocessors gets for problems of 16 features, told by the blocks and threads of the last launch. */
inline void check_choice(launcher *launch, size_t batch, size_t seq, unsigned blocks, unsigned threads)
{
    if (WATCHED)
        return;
    const pk_chip chip = {132, HOPPER_SHARED};
    const size_t dim = 16, n = batch * seq * dim;
    std::vector<float> in(n), out(4 * n), lse(batch * seq);
    pk_attention at = {};
    at.batch = batch, at.seq = seq, at.dim = dim, at.lse = lse.data();
    at.q = at.k = at.v = at.d_o = in.data();
    at.o = &out[0], at.dq = &out[n], at.dk = &out[2 * n], at.dv = &out[3 * n];
    expect_launched(launch_sampled(launch, chip, at), "choice of tiles", seq);
    if ((gridDim.x != blocks || blockDim.x != threads) && failures++ < 10)
        std::printf("%zu problems of %zu tokens: %u blocks of %u threads, should be %u of %u\n", batch, seq,
                    gridDim.x, blockDim.x, blocks, threads);
}

/* A backward pass with seven products, and with five where a head of so many features has it. */
inline int ways_of_backward(size_t dim)
{
    return dim >= PK_FLASH_FIVE_MIN && dim <= PK_FLASH_FIVE_MAX ? 2 : 1;
}

struct attention {
    size_t rows, n;
    std::vector<float> q, k, v, d_o;
    std::vector<double> p64, o64, lse64, dq64, dk64, dv64;
    results o, lse, dq, dk, dv;
    pk_attention at = {};

    attention(size_t batch, size_t seq, size_t dim, int causal, float scale, float deviation = 1)
        : rows(batch * seq), n(rows * dim), q(random_values(n, deviation)), k(random_values(n, deviation)),
          v(random_values(n)), d_o(random_values(n)), p64(rows * seq), o64(n), lse64(rows), dq64(n), dk64(n),
          dv64(n), o(n), lse(rows), dq(n), dk(n), dv(n)
    {
        at.batch = batch, at.seq = seq, at.dim = dim, at.causal = causal, at.scale = scale;
        at.q = q.data(), at.k = k.data(), at.v = v.data(), at.d_o = d_o.data();
        at.o = o.data(), at.lse = lse.data(), at.dq = dq.data(), at.dk = dk.data(), at.dv = dv.data();
        solve();
    }
    void solve()
    {
        const struct pk_reference_attention r = {p64.data(),  o64.data(),  lse64.data(),
                                                 dq64.data(), dk64.data(), dv64.data()};
        pk_reference_attention(&at, &r);
    }
};

/* Root of the mean square of got - want relative to that of want. */
template <typename GOT> double relative_error(const GOT &got, const std::vector<double> &want)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < want.size(); i++) {
        error += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        size += want[i] * want[i];
    }
    return std::sqrt(error / size);
}

/* Every element within `ulps` roundings of fp32, as sums of `terms` make them: like a random walk. */
inline void expect_all(const results &got, const std::vector<double> &want, size_t terms, double ulps,
                       const char *what, const attention &a)
{
    double squares = 0;
    for (double x : want)
        squares += x * x;
    const double rms = std::sqrt(squares / (double)want.size());
    const double allowed = ulps * 0x1p-23 * std::sqrt((double)terms + 16);
    for (size_t i = 0; i < want.size(); i++) {
        const int before = failures;
        expect(got[i], want[i], allowed * (rms + std::fabs(want[i])), what, a.at.dim, i);
        if (before != failures && failures < 10)
            std::printf("    batch %zu seq %zu causal %d\n", a.at.batch, a.at.seq, a.at.causal);
    }
}

/* Gradients of q and k: with one key they are 0, and rounding of what cancels is all there is. */
inline void expect_gradients(const results &got, const std::vector<double> &want, size_t terms, double ulps,
                             const char *what, const attention &a)
{
    if (a.at.seq > 1)
        return expect_all(got, want, terms, ulps, what, a);
    for (size_t i = 0; i < want.size(); i++)
        expect(got[i], 0, ulps * 0x1p-23 * (double)terms, what, a.at.dim, i);
}

constexpr double NEAR_FP32 = 1e-6; /* ieee products give 3.3e-7 for o where this is asked */

/* What forward saved, in fp32 as float64 knows it. */
struct saved {
    std::vector<float> o, lse;

    explicit saved(attention &a) : o(a.o64.begin(), a.o64.end()), lse(a.lse64.begin(), a.lse64.end())
    {
        a.at.o = o.data(), a.at.lse = lse.data();
    }
};

/* b becomes a with inputs that are tf32 numbers, rounded to the nearest, and what float64 says of those. */
inline void as_tf32(const attention &a, attention &b)
{
    const std::vector<float> *from[] = {&a.q, &a.k, &a.v, &a.d_o};
    std::vector<float> *to[] = {&b.q, &b.k, &b.v, &b.d_o};
    for (int i = 0; i < 4; i++)
        for (size_t e = 0; e < a.n; e++) {
            uint32_t bits;
            std::memcpy(&bits, &(*from[i])[e], sizeof bits);
            bits = (bits + 0x1000) & 0xffffe000;
            std::memcpy(&(*to[i])[e], &bits, sizeof bits);
        }
    b.solve();
}

} // namespace
