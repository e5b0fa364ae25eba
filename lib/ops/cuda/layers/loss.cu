/* Loss: what a framework makes of log-probabilities in kernels of their own: the targets' entries, the gradient of the logits, a mean.
 *
 * Entries: a row a thread, blocks of 256. Gradient: a piece of a row a block of 128 threads, two packs in flight. Mean: one block of 1024. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr unsigned THREADS = 128, EACH = 2;
constexpr int ENTRIES = 256, SUMMERS = 1024;

PK_KERNEL((ENTRIES), choose, const pk_nll x)
{
    pk_wait_for_previous();
    const size_t row = (size_t)blockIdx.x * ENTRIES + threadIdx.x;
    if (row < x.rows)
        x.losses[row] = -x.logp[row * x.cols + (size_t)x.targets[row]];
}

template <typename T, int W> PK_KERNEL((THREADS), gradient, const pk_nll_backward x, const pieces cut)
{
    pk_wait_for_previous();
    const size_t at = cut.row() * x.cols, target = (size_t)x.targets[cut.row()];
    const unsigned begin = cut.begin() + threadIdx.x, end = cut.end();
    float v[EACH][W];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < end)
            load_pack<W>(x.logp + at, begin + e * THREADS, v[e]);
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < end) {
            const unsigned i = begin + e * THREADS;
#pragma unroll
            for (int k = 0; k < W; k++)
                v[e][k] = (expf(v[e][k]) - ((size_t)i * W + k == target ? 1.0f : 0.0f)) * x.scale;
            store_pack(static_cast<T *>(x.d_logits) + at, i, v[e]);
        }
}

PK_KERNEL((SUMMERS), average, const float *x, size_t n, float *out)
{
    pk_wait_for_previous();
    float sum = 0;
#pragma unroll 8
    for (size_t i = threadIdx.x; i < n; i += SUMMERS)
        sum += x[i];
    sum = reduce<SUMMERS, add>(sum);
    if (threadIdx.x == 0)
        *out = sum / (float)n;
}

template <typename T, int W> int launch(pk_stream s, const pk_nll_backward &x)
{
    const pieces cut(x.cols / W, THREADS * EACH);
    return PK_LAUNCH((gradient<T, W>), cut.blocks(x.rows), THREADS, 0, s, x, cut);
}

template <typename T> int by_alignment(pk_stream s, const pk_nll_backward &x)
{
    const uintptr_t bits = pk_bits_of(x.logp) | pk_bits_of(x.d_logits) | x.cols * sizeof(T);
    return pk_can_pack(bits) ? launch<T, FULL<T>>(s, x) : launch<T, 1>(s, x);
}

} // namespace

int pk_k_nll(pk_stream s, const struct pk_nll *x)
{
    if (!x->rows)
        return 0;
    return PK_LAUNCH(choose, (unsigned)((x->rows + ENTRIES - 1) / ENTRIES), ENTRIES, 0, s, *x);
}

int pk_k_nll_backward(pk_stream s, const struct pk_nll_backward *x)
{
    if (!x->rows || !x->cols)
        return 0;
    return x->dtype == PK_BF16 ? by_alignment<bf16>(s, *x) : by_alignment<float>(s, *x);
}

int pk_k_mean(pk_stream s, const float *x, size_t n, float *out)
{
    return PK_LAUNCH(average, 1, SUMMERS, 0, s, x, n, out);
}
