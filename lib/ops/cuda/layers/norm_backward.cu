/* Norm backward: the gradients of what was normed, and of the weights in two passes: parts of their sums, then those.
 *
 * A fixed number of blocks of 256 threads, from the shape alone, go through the rows; each keeps its part of the weights' gradient in
 * registers, so that every element is read once, and writes it as a row of `partial`. A warp has a row, or the block where rows are
 * long (rows.h); those that are not held are read twice, and their columns summed by a kernel of their own. The second pass is blocks of
 * 32 x 32 threads over 32 columns each. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr int BLOCK = 256, WARPS = BLOCK / WARP;

/* d_y * w * s of a pack. */
template <typename T, int W>
__device__ float dot(const pk_norm_backward &n, size_t i, const pack<T, W> &s, const pack<T, W> &d_y)
{
    float x[W], d[W], w[W], sum = 0;
    widen(s, x);
    widen(d_y, d);
    load_pack<W>(n.w, i, w);
#pragma unroll
    for (int k = 0; k < W; k++)
        sum = fmaf(d[k] * w[k], x[k], sum);
    return sum;
}

/* mean is that of d_y * w * s * rstd; d_s is looked at where there is one. */
template <typename T, int W>
__device__ void store_d_x(const pk_norm_backward &n, size_t at, size_t i, const pack<T, W> &s,
                          const pack<T, W> &d_y, const pack<T, W> &d_s, float rstd, float mean)
{
    float x[W], d[W], w[W], past[W] = {};
    widen(s, x);
    widen(d_y, d);
    load_pack<W>(n.w, i, w);
    if (n.d_s)
        widen(d_s, past);
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] = fmaf(rstd, fmaf(d[k], w[k], -x[k] * rstd * mean), past[k]);
    store_pack(static_cast<T *>(n.d_x) + at, i, x);
}

template <typename T, int W>
__device__ void add_d_w(float (&d_w)[W], const pack<T, W> &s, const pack<T, W> &d_y, float rstd)
{
    float x[W], d[W];
    widen(s, x);
    widen(d_y, d);
#pragma unroll
    for (int k = 0; k < W; k++)
        d_w[k] = fmaf(d[k], x[k] * rstd, d_w[k]);
}

/* One after the other, the warps of a block add what they have; the last writes it. */
template <int W, int PACKS> __device__ void store_warps(float (&d_w)[PACKS][W], float *to, unsigned packs)
{
    __shared__ float sums[PACKS * W * WARP];
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (unsigned turn = 0; turn < WARPS; turn++) {
        __syncthreads();
        if (warp != turn)
            continue;
#pragma unroll
        for (int i = 0; i < PACKS; i++) {
#pragma unroll
            for (int k = 0; k < W; k++) {
                float *sum = &sums[(i * W + k) * WARP + lane];
                d_w[i][k] += turn ? *sum : 0.0f;
                *sum = d_w[i][k];
            }
            if (turn == WARPS - 1 && lane + i * WARP < packs)
                store_pack(to, lane + i * WARP, d_w[i]);
        }
    }
}

/* Blocks on a multiprocessor: two where what a thread holds of a row (s, d_y and d_s) and of d_w leaves room in 128 registers. */
template <int W> constexpr int REGISTERS = W == 1 ? 1 : 4; /* of a pack */
template <int W, int PACKS> constexpr int BLOCKS = PACKS *(3 * REGISTERS<W> + W) > 100 ? 1 : 2;

template <typename T, int W, int GROUP, int PACKS>
PK_KERNEL((BLOCK, BLOCKS<W, PACKS>), held, const pk_norm_backward n, float *partial)
{
    pk_wait_for_previous();
    constexpr int ROWS = BLOCK / GROUP;
    const unsigned lane = threadIdx.x % GROUP, packs = (unsigned)(n.cols / W);
    float d_w[PACKS][W] = {};
    for (size_t row = row_of_thread<GROUP, BLOCK>(); row < n.rows; row += (size_t)gridDim.x * ROWS) {
        const size_t at = row * n.cols;
        const float rstd = n.rstd[row];
        pack<T, W> s[PACKS], d_y[PACKS], d_s[PACKS];
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP < packs) {
                s[i] = pack_at<W>(row_at<const T>(n.s, at), lane + i * GROUP);
                d_y[i] = pack_at<W>(row_at<const T>(n.d_y, at), lane + i * GROUP);
            }
        if (n.d_s) /* in flight during the reduction: a load behind a store waits for it */
#pragma unroll
            for (int i = 0; i < PACKS; i++)
                if (lane + i * GROUP < packs)
                    d_s[i] = pack_at<W>(row_at<const T>(n.d_s, at), lane + i * GROUP);
        float sum = 0;
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP < packs) {
                sum += dot(n, lane + i * GROUP, s[i], d_y[i]);
                add_d_w(d_w[i], s[i], d_y[i], rstd);
            }
        const float mean = reduce<GROUP, add>(sum) * rstd / (float)n.cols;
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP < packs)
                store_d_x(n, at, lane + i * GROUP, s[i], d_y[i], d_s[i], rstd, mean);
    }
    float *to = partial + (size_t)blockIdx.x * n.cols;
    if constexpr (GROUP == WARP) {
        store_warps<W, PACKS>(d_w, to, packs);
    } else {
#pragma unroll
        for (int i = 0; i < PACKS; i++)
            if (lane + i * GROUP < packs)
                store_pack(to, lane + i * GROUP, d_w[i]);
    }
}

/* Of a column each thread, over the rows of a part: before d_x, which may be where d_y is. */
template <typename T>
PK_KERNEL((BLOCK), walked_d_w, const pk_norm_backward n, float *partial, unsigned across)
{
    pk_wait_for_previous();
    const size_t part = blockIdx.x / across, parts = gridDim.x / across,
                 c = (size_t)(blockIdx.x % across) * BLOCK + threadIdx.x;
    if (c >= n.cols)
        return;
    float sum = 0;
    for (size_t row = part; row < n.rows; row += parts)
        sum = fmaf(load(row_at<const T>(n.d_y, row * n.cols), c),
                   load(row_at<const T>(n.s, row * n.cols), c) * n.rstd[row], sum);
    partial[part * n.cols + c] = sum;
}

template <typename T, int W> PK_KERNEL((BLOCK), walked_d_x, const pk_norm_backward n)
{
    pk_wait_for_previous();
    const size_t at = (size_t)blockIdx.x * n.cols;
    const unsigned packs = (unsigned)(n.cols / W);
    const float rstd = n.rstd[blockIdx.x];
    float sum = 0;
    for (unsigned i = threadIdx.x; i < packs; i += BLOCK)
        sum += dot(n, i, pack_at<W>(row_at<const T>(n.s, at), i), pack_at<W>(row_at<const T>(n.d_y, at), i));
    const float mean = reduce<BLOCK, add>(sum) * rstd / (float)n.cols;
    for (unsigned i = threadIdx.x; i < packs; i += BLOCK) {
        pack<T, W> d_s = {};
        if (n.d_s)
            d_s = pack_at<W>(row_at<const T>(n.d_s, at), i);
        store_d_x(n, at, i, pack_at<W>(row_at<const T>(n.s, at), i),
                  pack_at<W>(row_at<const T>(n.d_y, at), i), d_s, rstd, mean);
    }
}

PK_KERNEL((WARP * WARP), sum_parts, const float *partial, float *d_w, bool add, size_t cols, unsigned parts)
{
    pk_wait_for_previous();
    __shared__ float sums[WARP][WARP];
    const unsigned x = threadIdx.x, y = threadIdx.y;
    const size_t c = (size_t)blockIdx.x * WARP + x;
    float sum = 0;
    if (c < cols)
#pragma unroll 8
        for (unsigned p = y; p < parts; p += WARP)
            sum += partial[p * cols + c];
    sums[y][x] = sum;
    __syncthreads();
    if (y != 0 || c >= cols)
        return;
#pragma unroll
    for (int i = 1; i < WARP; i++)
        sum += sums[i][x];
    d_w[c] = add ? d_w[c] + sum : sum;
}

struct norm_call {
    pk_stream s;
    float *partial;
    unsigned parts;
};

template <typename T, int W> struct launch_parts {
    const norm_call &c;
    const pk_norm_backward &n;
    template <int GROUP, int PACKS> int rows_held() const
    {
        return PK_LAUNCH((held<T, W, GROUP, PACKS>), c.parts, BLOCK, 0, c.s, n, c.partial);
    }
    int rows_walked() const
    {
        const unsigned across = (unsigned)((n.cols + BLOCK - 1) / BLOCK);
        const int rc = PK_LAUNCH(walked_d_w<T>, across * c.parts, BLOCK, 0, c.s, n, c.partial, across);
        return rc || !n.rows ? rc : PK_LAUNCH((walked_d_x<T, W>), (unsigned)n.rows, BLOCK, 0, c.s, n);
    }
};

template <typename T, int W> int launch(const norm_call &c, const pk_norm_backward &n)
{
    const int rc = launch_by_length<W>(n.cols / W, launch_parts<T, W>{c, n});
    if (rc)
        return rc;
    const dim3 square(WARP, WARP);
    return PK_LAUNCH(sum_parts, (unsigned)((n.cols + WARP - 1) / WARP), square, 0, c.s, c.partial, n.d_w,
                     n.add != 0, n.cols, c.parts);
}

template <typename T> int by_alignment(const norm_call &c, const pk_norm_backward &n)
{
    const uintptr_t bits = pk_bits_of(n.s) | pk_bits_of(n.w) | pk_bits_of(n.d_y) | pk_bits_of(n.d_s) |
                           pk_bits_of(n.d_x) | pk_bits_of(c.partial);
    return pk_can_pack(bits | n.cols * sizeof(T)) ? launch<T, FULL<T>>(c, n) : launch<T, 1>(c, n);
}

} // namespace

int pk_k_norm_backward(pk_stream s, const struct pk_norm_backward *n, float *partial, size_t parts)
{
    const norm_call c = {s, partial, (unsigned)parts};
    if (!n->cols)
        return 0;
    return n->dtype == PK_BF16 ? by_alignment<bf16>(c, *n) : by_alignment<float>(c, *n);
}
