/* Softmax: rows of a matrix, forward and backward, each element read once and written once.
 *
 * A row of up to 1024 columns belongs to a warp, one of up to 8192 to a block of 256 threads; both hold the row in registers. A longer
 * row is read twice: once for its maximum and sum, kept online, once to write. Elements are fp32 or bf16, arithmetic is fp32. */
#include "ops/cuda/element.h"
#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"
#include "ops/cuda/reduce.h"

namespace
{

constexpr int BLOCK = 256;

template <int GROUP> __device__ size_t row_of_thread()
{
    return (size_t)blockIdx.x * (BLOCK / GROUP) + threadIdx.x / GROUP;
}

/* Columns that a row of a causal seq x seq problem sees; all when seq is 0. */
__device__ size_t visible(size_t row, size_t cols, size_t seq)
{
    return seq ? row % seq + 1 : cols;
}

template <typename T, int GROUP, int VALUES>
PK_KERNEL((BLOCK), forward, const T *x, T *y, size_t rows, size_t cols, size_t causal_seq)
{
    const size_t row = row_of_thread<GROUP>();
    if (row >= rows)
        return; /* whole groups only */
    const size_t lane = threadIdx.x % GROUP, seen = visible(row, cols, causal_seq);
    float v[VALUES], top = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        const size_t c = lane + (size_t)i * GROUP;
        v[i] = c < seen ? load(x, row * cols + c) : -INFINITY;
        top = fmaxf(top, v[i]);
    }
    top = reduce<GROUP, larger>(top);
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        v[i] = expf(v[i] - top);
        sum += v[i];
    }
    const float scale = 1.0f / reduce<GROUP, add>(sum);
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        const size_t c = lane + (size_t)i * GROUP;
        if (c < cols)
            store(y, row * cols + c, v[i] * scale);
    }
}

template <typename T> PK_KERNEL((BLOCK), forward_long, const T *x, T *y, size_t cols, size_t causal_seq)
{
    const size_t row = blockIdx.x, seen = visible(row, cols, causal_seq);
    const T *in = x + row * cols;
    float top = -INFINITY, sum = 0;
    for (size_t c = threadIdx.x; c < seen; c += BLOCK) {
        const float v = load(in, c), now = fmaxf(top, v);
        const float base = now == -INFINITY ? 0.0f : now; /* nothing but -inf yet */
        sum = sum * expf(top - base) + expf(v - base);
        top = now;
    }
    const float all = reduce<BLOCK, larger>(top);
    const float scale = 1.0f / reduce<BLOCK, add>(top == -INFINITY ? 0.0f : sum * expf(top - all));
    for (size_t c = threadIdx.x; c < cols; c += BLOCK)
        store(y, row * cols + c, c < seen ? expf(load(in, c) - all) * scale : 0.0f);
}

template <typename T, int GROUP, int VALUES>
PK_KERNEL((BLOCK), backward, const T *p, const T *dp, T *ds, size_t rows, size_t cols)
{
    const size_t row = row_of_thread<GROUP>();
    if (row >= rows)
        return;
    const size_t lane = threadIdx.x % GROUP;
    float a[VALUES], b[VALUES], sum = 0;
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        const size_t c = lane + (size_t)i * GROUP;
        a[i] = c < cols ? load(p, row * cols + c) : 0.0f;
        b[i] = c < cols ? load(dp, row * cols + c) : 0.0f;
        sum += a[i] * b[i];
    }
    sum = reduce<GROUP, add>(sum);
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        const size_t c = lane + (size_t)i * GROUP;
        if (c < cols)
            store(ds, row * cols + c, a[i] * (b[i] - sum));
    }
}

template <typename T> PK_KERNEL((BLOCK), backward_long, const T *p, const T *dp, T *ds, size_t cols)
{
    const size_t at = (size_t)blockIdx.x * cols;
    float sum = 0;
    for (size_t c = threadIdx.x; c < cols; c += BLOCK)
        sum += load(p, at + c) * load(dp, at + c);
    sum = reduce<BLOCK, add>(sum);
    for (size_t c = threadIdx.x; c < cols; c += BLOCK)
        store(ds, at + c, load(p, at + c) * (load(dp, at + c) - sum));
}

/* Calls f.run<GROUP, VALUES>() with the fewest values a thread that hold a row; false when none does. */
template <typename F> bool with_row_in_registers(size_t cols, const F &f)
{
    if (cols <= 1 * WARP)
        f.template run<WARP, 1>();
    else if (cols <= 2 * WARP)
        f.template run<WARP, 2>();
    else if (cols <= 4 * WARP)
        f.template run<WARP, 4>();
    else if (cols <= 8 * WARP)
        f.template run<WARP, 8>();
    else if (cols <= 16 * WARP)
        f.template run<WARP, 16>();
    else if (cols <= 32 * WARP)
        f.template run<WARP, 32>();
    else if (cols <= 8 * BLOCK)
        f.template run<BLOCK, 8>();
    else if (cols <= 16 * BLOCK)
        f.template run<BLOCK, 16>();
    else if (cols <= 32 * BLOCK)
        f.template run<BLOCK, 32>();
    else
        return false;
    return true;
}

template <int GROUP> unsigned blocks_for(size_t rows)
{
    return (unsigned)((rows + BLOCK / GROUP - 1) / (BLOCK / GROUP));
}

template <typename T> struct forward_launch {
    pk_stream s;
    const T *x;
    T *y;
    size_t rows, cols, causal_seq;
    template <int GROUP, int VALUES> void run() const
    {
        PK_LAUNCH((forward<T, GROUP, VALUES>), blocks_for<GROUP>(rows), BLOCK, 0, s, x, y, rows, cols,
                  causal_seq);
    }
};

template <typename T> struct backward_launch {
    pk_stream s;
    const T *p, *dp;
    T *ds;
    size_t rows, cols;
    template <int GROUP, int VALUES> void run() const
    {
        PK_LAUNCH((backward<T, GROUP, VALUES>), blocks_for<GROUP>(rows), BLOCK, 0, s, p, dp, ds, rows, cols);
    }
};

template <typename T>
int softmax(pk_stream s, const void *x, void *y, size_t rows, size_t cols, size_t causal_seq)
{
    const forward_launch<T> f = {s, static_cast<const T *>(x), static_cast<T *>(y), rows, cols, causal_seq};
    if (!with_row_in_registers(cols, f))
        PK_LAUNCH(forward_long<T>, (unsigned)rows, BLOCK, 0, s, f.x, f.y, cols, causal_seq);
    return PK_LAUNCHED();
}

template <typename T>
int softmax_backward(pk_stream s, const void *p, const void *dp, void *ds, size_t rows, size_t cols)
{
    const backward_launch<T> f = {
        s, static_cast<const T *>(p), static_cast<const T *>(dp), static_cast<T *>(ds), rows, cols};
    if (!with_row_in_registers(cols, f))
        PK_LAUNCH(backward_long<T>, (unsigned)rows, BLOCK, 0, s, f.p, f.dp, f.ds, cols);
    return PK_LAUNCHED();
}

} // namespace

int pk_k_softmax(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t rows, size_t cols,
                 size_t causal_seq)
{
    if (!rows || !cols)
        return 0;
    return type == PK_BF16 ? softmax<bf16>(s, x, y, rows, cols, causal_seq)
                           : softmax<float>(s, x, y, rows, cols, causal_seq);
}

int pk_k_softmax_backward(pk_stream s, enum pk_dtype type, const void *p, const void *dp, void *ds,
                          size_t rows, size_t cols)
{
    if (!rows || !cols)
        return 0;
    return type == PK_BF16 ? softmax_backward<bf16>(s, p, dp, ds, rows, cols)
                           : softmax_backward<float>(s, p, dp, ds, rows, cols);
}
