/* Cross-entropy: rows of logits to losses and gradients in one step, or to their log-softmax; no probabilities are stored.
 *
 * A row of up to 4 packs of 16 bytes a lane belongs to a warp (blocks of 256 threads), one of up to 5 a thread to a block of 256, of up to 8
 * to one of 512; all hold it in registers. A longer row is read twice: for its maximum and sum, kept online, and to write. */
#include "ops/cuda/exp_sum.h"
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr int WALKERS = 512; /* threads of a row that is not held */

/* Rows of logits: `cols` of them are real; packs cover `covered`, where a result is written. */
template <typename T> struct rows_in {
    const T *logits;
    size_t rows, cols, stride, covered;
};

/* A row is shorter than 2^32. */
template <int W> __device__ unsigned packs_of(size_t cols)
{
    return ((unsigned)cols + W - 1) / W;
}

/* Losses, and where they are wanted gradients. */
template <typename T> struct entropy {
    typedef T out;
    const int32_t *targets;
    float *losses;
    float scale;
    T *d_logits;
    size_t stride;

    struct seen {
        unsigned target;
        float chosen;
    };
    /* Before anything of the row is written. */
    __device__ seen look(size_t row, const T *logits) const
    {
        const int32_t target = targets[row];
        return {(unsigned)target, load(logits, (size_t)target)};
    }
    __device__ void finish(size_t row, const seen &at, const row_sum &of) const
    {
        losses[row] = of.top - at.chosen + log_sum(of);
    }
    __device__ T *to(size_t row) const
    {
        return d_logits ? d_logits + row * stride : nullptr;
    }
    /* of.sum is its inverse times scale here: see `prepared` */
    __device__ float value(float x, const row_sum &of) const
    {
        return exp_below(x, of.base) * of.sum;
    }
    __device__ row_sum prepared(const row_sum &of) const
    {
        return {of.top, of.base, scale / of.sum};
    }
    /* The target's own, by the thread that has written its pack: `self` of `threads`. */
    template <int W>
    __device__ void correct(const seen &at, T *to, unsigned self, unsigned threads, const row_sum &of) const
    {
        if (at.target / W % threads == self)
            store(to, at.target, value(at.chosen, of) - scale);
    }
};

struct log_softmax {
    typedef float out;
    float *logp;
    size_t stride;

    struct seen {
    };
    template <typename T> __device__ seen look(size_t, const T *) const
    {
        return {};
    }
    __device__ void finish(size_t, const seen &, const row_sum &) const
    {
    }
    __device__ float *to(size_t row) const
    {
        return logp + row * stride;
    }
    __device__ float value(float x, const row_sum &of) const
    {
        return x - of.top - of.sum;
    }
    __device__ row_sum prepared(const row_sum &of) const
    {
        return {of.top, of.base, log_sum(of)};
    }
    template <int W> __device__ void correct(const seen &, float *, unsigned, unsigned, const row_sum &) const
    {
    }
};

template <int W, typename T, typename OUT>
__device__ void store_values(const OUT &out, typename OUT::out *to, unsigned i, const pack<T, W> &p,
                             const row_sum &ready)
{
    float x[W];
    widen(p, x);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] = out.value(x[k], ready);
    store_pack(to, i, x);
}

template <int W, typename T> __device__ void store_nothing(T *to, unsigned i)
{
    const float none[W] = {};
    store_pack(to, i, none);
}

/* Blocks at once on a multiprocessor: three of 512 threads where that leaves registers for the packs; 0: as many as there are. */
template <int BLOCK, int PACKS> constexpr int AT_ONCE = BLOCK == 512 && PACKS <= 5 ? 3 : 0;

template <typename T, int W, int GROUP, int BLOCK, int PACKS, typename OUT>
PK_KERNEL((BLOCK, AT_ONCE<BLOCK, PACKS>), held, const rows_in<T> in, const OUT out)
{
    pk_wait_for_previous();
    const size_t row = row_of_thread<GROUP, BLOCK>();
    if (row >= in.rows)
        return; /* whole groups only */
    const unsigned lane = threadIdx.x % GROUP, packs = packs_of<W>(in.covered), real = packs_of<W>(in.cols);
    const T *logits = in.logits + row * in.stride;
    const typename OUT::seen at = out.look(row, logits);
    pack<T, W> v[PACKS];
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < real)
            v[i] = pack_at<W>(logits, lane + i * GROUP);
    if ((unsigned)in.cols % W)
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP == real - 1)
                mask(v[i], lane + i * GROUP, (unsigned)in.cols);
    float top = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < real)
            top = fmaxf(top, largest(v[i]));
    top = reduce<GROUP, larger>(top);
    const float base = top * LOG2E;
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < real) {
            float x[W];
            widen(v[i], x);
#pragma unroll
            for (int k = 0; k < W; k++)
                sum += exp_below(x[k], base);
        }
    const row_sum of = {top, base, reduce<GROUP, add>(sum)};
    if (GROUP == WARP) /* as a block has done in reduce */
        __syncwarp();  /* all have read the target's logit, which may be overwritten from here on */
    if (lane == 0)
        out.finish(row, at, of);
    typename OUT::out *to = out.to(row);
    if (!to)
        return;
    const row_sum ready = out.prepared(of);
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < real)
            store_values<W>(out, to, lane + i * GROUP, v[i], ready);
        else if (lane + i * GROUP < packs)
            store_nothing<W>(to, lane + i * GROUP);
    out.template correct<W>(at, to, lane, GROUP, ready);
}

template <typename T, int W, typename OUT> PK_KERNEL((WALKERS), walked, const rows_in<T> in, const OUT out)
{
    pk_wait_for_previous();
    const size_t row = blockIdx.x;
    const unsigned packs = packs_of<W>(in.covered), real = packs_of<W>(in.cols);
    const T *logits = in.logits + row * in.stride;
    const typename OUT::seen at = out.look(row, logits);
    row_sum of = {-INFINITY, 0, 0};
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < real; i += WALKERS)
        take(of, masked_at<W>(logits, i, (unsigned)in.cols));
    of = joined<WALKERS>(of);
    if (threadIdx.x == 0)
        out.finish(row, at, of);
    typename OUT::out *to = out.to(row);
    if (!to)
        return;
    const row_sum ready = out.prepared(of);
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < real; i += WALKERS)
        store_values<W>(out, to, i, masked_at<W>(logits, i, (unsigned)in.cols), ready);
    for (unsigned i = real + threadIdx.x; i < packs; i += WALKERS)
        store_nothing<W>(to, i);
    out.template correct<W>(at, to, threadIdx.x, WALKERS, ready);
}

template <typename T, int W, int GROUP, int BLOCK, int PACKS, typename OUT>
int launch_held(pk_stream s, const rows_in<T> &in, const OUT &out)
{
    return PK_LAUNCH((held<T, W, GROUP, BLOCK, PACKS, OUT>), (blocks_for_rows<GROUP, BLOCK>(in.rows)), BLOCK,
                     0, s, in, out);
}

/* The fewest packs a thread that hold a row; single elements, the way of odd sizes, have few classes. */
template <typename T, int W, typename OUT> int launch(pk_stream s, const rows_in<T> &in, const OUT &out)
{
    const size_t packs = (in.covered + W - 1) / W;
    constexpr int SMALL = W > 1 ? 2 : 5, LARGE = W > 1 ? 5 : 8;
    if (packs <= 4 * WARP)
        return launch_held<T, W, WARP, 256, 4>(s, in, out);
    if (packs <= SMALL * 256)
        return launch_held<T, W, 256, 256, SMALL>(s, in, out);
    if (packs <= 5 * 256)
        return launch_held<T, W, 256, 256, 5>(s, in, out);
    if (packs <= LARGE * 512)
        return launch_held<T, W, 512, 512, LARGE>(s, in, out);
    if (packs <= 8 * 512)
        return launch_held<T, W, 512, 512, 8>(s, in, out);
    return PK_LAUNCH((walked<T, W, OUT>), (unsigned)in.rows, WALKERS, 0, s, in, out);
}

template <typename T> int launch_entropy(pk_stream s, const pk_cross_entropy &x)
{
    const rows_in<T> in = {static_cast<const T *>(x.logits), x.rows, x.cols, x.stride,
                           x.d_logits ? x.stride : x.cols};
    const entropy<T> out = {x.targets, x.losses, x.scale, static_cast<T *>(x.d_logits), x.stride};
    const uintptr_t bits = pk_bits_of(x.logits) | pk_bits_of(x.d_logits) | x.stride * sizeof(T);
    return pk_can_pack(bits) ? launch<T, FULL<T>>(s, in, out) : launch<T, 1>(s, in, out);
}

template <typename T> int launch_log_softmax(pk_stream s, const pk_log_softmax &x)
{
    const rows_in<T> in = {static_cast<const T *>(x.logits), x.rows, x.cols, x.cols, x.cols};
    const log_softmax out = {x.logp, x.cols};
    const uintptr_t bits = pk_bits_of(x.logits) | pk_bits_of(x.logp) | x.cols * sizeof(T);
    return pk_can_pack(bits) ? launch<T, FULL<T>>(s, in, out) : launch<T, 1>(s, in, out);
}

} // namespace

int pk_k_cross_entropy(pk_stream s, const struct pk_cross_entropy *x)
{
    if (!x->rows || !x->cols)
        return 0;
    return x->dtype == PK_BF16 ? launch_entropy<bf16>(s, *x) : launch_entropy<float>(s, *x);
}

int pk_k_log_softmax(pk_stream s, const struct pk_log_softmax *x)
{
    if (!x->rows || !x->cols)
        return 0;
    return x->dtype == PK_BF16 ? launch_log_softmax<bf16>(s, *x) : launch_log_softmax<float>(s, *x);
}
