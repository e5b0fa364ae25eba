/* Cross-entropy: rows of logits to losses and gradients in one step, or to their log-softmax; no probabilities are stored.
 *
 * A row of up to 4 packs of 16 bytes a lane belongs to a warp (blocks of 256 threads), one of up to 5 a thread to a block of 256, of up to 8
 * to one of 512; all hold it in registers. A longer row is read twice: for its maximum and sum, kept online, and to write. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr float LOG2E = 1.44269504f;
constexpr int WALKERS = 512; /* threads of a row that is not held */

/* What a row of logits is to all of its threads. */
struct row_sum {
    float top, sum; /* the maximum; the sum of exp(x - top) */
};

__device__ float exp_below(float x, float top)
{
    return pk_exp2((x - top) * LOG2E);
}

/* Rows of logits: `cols` of them are real; packs cover `covered`, where a result is written. */
template <typename T> struct rows_in {
    const T *logits;
    size_t rows, cols, stride, covered;
};

/* Columns beyond the last are no logits: their exponential is 0. */
template <int W, typename T> __device__ pack<T, W> logits_at(const rows_in<T> &in, const T *row, unsigned i)
{
    constexpr float NONE = -INFINITY;
    pack<T, W> p;
    const size_t first = (size_t)i * W;
    if (first < in.cols)
        p = pack_at<W>(row, i);
    if (first + W > in.cols)
#pragma unroll
        for (int k = 0; k < W; k++)
            if (first + k >= in.cols)
                store(p.v, k, NONE);
    return p;
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
        losses[row] = of.top - at.chosen + logf(of.sum);
    }
    __device__ T *to(size_t row) const
    {
        return d_logits ? d_logits + row * stride : nullptr;
    }
    /* of.sum is its inverse times scale here: see `prepared` */
    __device__ float value(const seen &at, float x, size_t c, const row_sum &of) const
    {
        return exp_below(x, of.top) * of.sum - (c == at.target ? scale : 0.0f);
    }
    __device__ row_sum prepared(const row_sum &of) const
    {
        return {of.top, scale / of.sum};
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
    __device__ float value(const seen &, float x, size_t, const row_sum &of) const
    {
        return x - of.top - of.sum;
    }
    __device__ row_sum prepared(const row_sum &of) const
    {
        return {of.top, logf(of.sum)};
    }
};

template <int W, typename T, typename OUT>
__device__ void store_values(const OUT &out, const typename OUT::seen &at, typename OUT::out *to, unsigned i,
                             const pack<T, W> &p, const row_sum &ready)
{
    float x[W];
    widen(p, x);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] = out.value(at, x[k], (size_t)i * W + k, ready);
    store_pack(to, i, x);
}

template <typename T, int W, int GROUP, int BLOCK, int PACKS, typename OUT>
PK_KERNEL((BLOCK), held, const rows_in<T> in, const OUT out)
{
    const size_t row = row_of_thread<GROUP, BLOCK>();
    if (row >= in.rows)
        return; /* whole groups only */
    const unsigned lane = threadIdx.x % GROUP, packs = (unsigned)((in.covered + W - 1) / W);
    const T *logits = in.logits + row * in.stride;
    const typename OUT::seen at = out.look(row, logits);
    pack<T, W> v[PACKS];
    row_sum of = {-INFINITY, 0};
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs)
            v[i] = logits_at<W>(in, logits, lane + i * GROUP);
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs) {
            float x[W];
            widen(v[i], x);
#pragma unroll
            for (int k = 0; k < W; k++)
                of.top = fmaxf(of.top, x[k]);
        }
    of.top = reduce<GROUP, larger>(of.top);
#pragma unroll
    for (int i = 0; i < PACKS; i++)
        if (lane + i * GROUP < packs) {
            float x[W];
            widen(v[i], x);
#pragma unroll
            for (int k = 0; k < W; k++)
                of.sum += exp_below(x[k], of.top);
        }
    of.sum = reduce<GROUP, add>(of.sum);
    if (lane == 0)
        out.finish(row, at, of);
    typename OUT::out *to = out.to(row);
    const row_sum ready = out.prepared(of);
    if (to)
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP < packs)
                store_values<W>(out, at, to, lane + i * GROUP, v[i], ready);
}

/* One more pack of a row whose maximum is not known yet. */
template <int W, typename T> __device__ void take(row_sum &of, const pack<T, W> &p)
{
    float x[W], top = of.top;
    widen(p, x);
#pragma unroll
    for (int k = 0; k < W; k++)
        top = fmaxf(top, x[k]);
    const float base = top == -INFINITY ? 0.0f : top; /* nothing but -inf yet */
    of.sum *= exp_below(of.top, base);
#pragma unroll
    for (int k = 0; k < W; k++)
        of.sum += exp_below(x[k], base);
    of.top = top;
}

template <typename T, int W, typename OUT> PK_KERNEL((WALKERS), walked, const rows_in<T> in, const OUT out)
{
    const size_t row = blockIdx.x;
    const unsigned packs = (unsigned)((in.covered + W - 1) / W), real = (unsigned)((in.cols + W - 1) / W);
    const T *logits = in.logits + row * in.stride;
    const typename OUT::seen at = out.look(row, logits);
    row_sum of = {-INFINITY, 0};
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < real; i += WALKERS)
        take(of, logits_at<W>(in, logits, i));
    const float top = reduce<WALKERS, larger>(of.top);
    of.sum = reduce<WALKERS, add>(of.top == -INFINITY ? 0.0f : of.sum * exp_below(of.top, top));
    of.top = top;
    if (threadIdx.x == 0)
        out.finish(row, at, of);
    typename OUT::out *to = out.to(row);
    const row_sum ready = out.prepared(of);
    if (to)
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < packs; i += WALKERS)
            store_values<W>(out, at, to, i, logits_at<W>(in, logits, i), ready);
}

template <typename T, int W, int GROUP, int BLOCK, int PACKS, typename OUT>
void launch_held(pk_stream s, const rows_in<T> &in, const OUT &out)
{
    PK_LAUNCH((held<T, W, GROUP, BLOCK, PACKS, OUT>), (blocks_for_rows<GROUP, BLOCK>(in.rows)), BLOCK, 0, s,
              in, out);
}

/* The fewest packs a thread that hold a row; single elements, the way of odd sizes, have few classes. */
template <typename T, int W, typename OUT> int launch(pk_stream s, const rows_in<T> &in, const OUT &out)
{
    const size_t packs = (in.covered + W - 1) / W;
    constexpr int SMALL = W > 1 ? 2 : 5, LARGE = W > 1 ? 5 : 8;
    if (packs <= 4 * WARP)
        launch_held<T, W, WARP, 256, 4>(s, in, out);
    else if (packs <= SMALL * 256)
        launch_held<T, W, 256, 256, SMALL>(s, in, out);
    else if (packs <= 5 * 256)
        launch_held<T, W, 256, 256, 5>(s, in, out);
    else if (packs <= LARGE * 512)
        launch_held<T, W, 512, 512, LARGE>(s, in, out);
    else if (packs <= 8 * 512)
        launch_held<T, W, 512, 512, 8>(s, in, out);
    else
        PK_LAUNCH((walked<T, W, OUT>), (unsigned)in.rows, WALKERS, 0, s, in, out);
    return PK_LAUNCHED();
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
