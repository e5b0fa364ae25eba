/* Flash tile: products of tiles in shared memory, as the kernels of attention make them in fp32 on ordinary units.
 *
 * A block owns OWN rows of one array (queries or keys) and sees another in tiles of SEEN rows. Rows lie in shared memory as in global
 * memory, dim padded with zeros to DIM and four floats more, so that eight rows beside each other are in different banks. A thread has
 * ROWS x COLS scores: own rows y, y + DOWN .., seen rows x, x + ACROSS ..; and of what it gathers, ROWS x FEATURES.
 * Lanes are laid out in pairs: those that read the same 16 bytes are neighbours, which costs one access to shared memory.
 *
 * Weights (what scores become) pass through shared memory as well, each thread's COLS beside each other; as rows of weights are written
 * and read by the lanes of one warp, a barrier of the warp is enough between the two. */
#pragma once

#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"

namespace
{

template <int DIM_, int ACROSS_, int THREADS_, int ROWS_, int COLS_> struct tile {
    static constexpr int DIM = DIM_, ACROSS = ACROSS_, THREADS = THREADS_, ROWS = ROWS_, COLS = COLS_;
    static constexpr int DOWN = THREADS / ACROSS, OWN = ROWS * DOWN, SEEN = COLS * ACROSS;
    static constexpr int FEATURES = DIM / ACROSS, STRIDE = DIM + 4, WEIGHTS_STRIDE = SEEN + 4;
    static constexpr int OWN_FLOATS = OWN * STRIDE, SEEN_FLOATS = SEEN * STRIDE;
    static constexpr int WEIGHTS_FLOATS = OWN * WEIGHTS_STRIDE;
    static_assert(FEATURES % 4 == 0 && SEEN % 4 == 0 && ACROSS <= 16, "read by fours, rows within a warp");
};

/* Where a thread is in its tile. */
template <typename T> struct place {
    int x, y;
    __device__ place()
    {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        x = lane / 2 % T::ACROSS;
        y = warp * (32 / T::ACROSS) + lane / (2 * T::ACROSS) * 2 + lane % 2;
    }
};

/* Over the lanes that share an own row: their numbers differ in these bits. */
template <typename T> __device__ float row_max(float v)
{
#pragma unroll
    for (int step = 2; step < 2 * T::ACROSS; step *= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}

template <typename T> __device__ float row_sum(float v)
{
#pragma unroll
    for (int step = 2; step < 2 * T::ACROSS; step *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

__device__ float4 load4(const float *p)
{
    return *reinterpret_cast<const float4 *>(p);
}

/* One problem's [seq, dim]; fours says that rows are aligned to 16 bytes. */
struct rows_of {
    const float *x;
    int seq, dim;
    bool fours;
};

/* COUNT rows from `first` on into a tile, begun and not waited for; zeros beyond seq and dim. */
template <typename T, int COUNT> __device__ void fetch(float *to, const rows_of &from, int first)
{
    constexpr int PER_ROW = T::DIM / 4;
    for (int i = (int)threadIdx.x; i < COUNT * PER_ROW; i += T::THREADS) {
        const int r = i / PER_ROW, c = i % PER_ROW * 4;
        const int left = first + r < from.seq ? from.dim - c : 0;
        const float *src = left > 0 ? from.x + (size_t)(first + r) * (size_t)from.dim + c : from.x;
        float *dst = to + r * T::STRIDE + c;
        if (from.fours)
            pk_fetch<16>(dst, src, left > 0);
        else
#pragma unroll
            for (int e = 0; e < 4; e++)
                pk_fetch<4>(dst + e, e < left ? src + e : from.x, e < left);
    }
}

/* s[i][j] = own row i . seen row j */
template <typename T>
__device__ void multiply_rows(float (&s)[T::ROWS][T::COLS], const float *own, const float *seen, place<T> at)
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
#pragma unroll
        for (int j = 0; j < T::COLS; j++)
            s[i][j] = 0;
#pragma unroll 2
    for (int d = 0; d < T::DIM; d += 4) {
        float4 a[T::ROWS];
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
            a[i] = load4(own + (at.y + i * T::DOWN) * T::STRIDE + d);
#pragma unroll
        for (int j = 0; j < T::COLS; j++) {
            const float4 b = load4(seen + (at.x + j * T::ACROSS) * T::STRIDE + d);
#pragma unroll
            for (int i = 0; i < T::ROWS; i++) {
                s[i][j] = fmaf(a[i].x, b.x, s[i][j]);
                s[i][j] = fmaf(a[i].y, b.y, s[i][j]);
                s[i][j] = fmaf(a[i].z, b.z, s[i][j]);
                s[i][j] = fmaf(a[i].w, b.w, s[i][j]);
            }
        }
    }
}

/* COLS floats, stored as wide as they are aligned. */
template <int N> struct alignas(N < 4 ? N * 4 : 16) floats {
    float v[N];
};

template <typename T> __device__ void keep_weights(float *w, const float (&s)[T::ROWS][T::COLS], place<T> at)
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++) {
        floats<T::COLS> row;
#pragma unroll
        for (int j = 0; j < T::COLS; j++)
            row.v[j] = s[i][j];
        *reinterpret_cast<floats<T::COLS> *>(w + (at.y + i * T::DOWN) * T::WEIGHTS_STRIDE + at.x * T::COLS) =
            row;
    }
}

/* sum[i] += sum over seen rows of weight * row. Feature f of a thread is f % 4 + 4 x + f / 4 * 4 ACROSS of its row. */
template <typename T>
__device__ void gather(float (&sum)[T::ROWS][T::FEATURES], const float *w, const float *seen, place<T> at)
{
#pragma unroll 2
    for (int p = 0; p < T::SEEN; p += 4) {
        float a[T::ROWS][4];
#pragma unroll
        for (int i = 0; i < T::ROWS; i++) {
            const float4 v = load4(w + (at.y + i * T::DOWN) * T::WEIGHTS_STRIDE + p);
            a[i][0] = v.x, a[i][1] = v.y, a[i][2] = v.z, a[i][3] = v.w;
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float *row =
                seen + ((p + e) / T::COLS + (p + e) % T::COLS * T::ACROSS) * T::STRIDE + 4 * at.x;
#pragma unroll
            for (int f = 0; f < T::FEATURES; f += 4) {
                const float4 b = load4(row + f * T::ACROSS);
#pragma unroll
                for (int i = 0; i < T::ROWS; i++) {
                    sum[i][f] = fmaf(a[i][e], b.x, sum[i][f]);
                    sum[i][f + 1] = fmaf(a[i][e], b.y, sum[i][f + 1]);
                    sum[i][f + 2] = fmaf(a[i][e], b.z, sum[i][f + 2]);
                    sum[i][f + 3] = fmaf(a[i][e], b.w, sum[i][f + 3]);
                }
            }
        }
    }
}

template <typename T> __device__ void clear(float (&v)[T::ROWS][T::FEATURES])
{
#pragma unroll
    for (int i = 0; i < T::ROWS; i++)
#pragma unroll
        for (int f = 0; f < T::FEATURES; f++)
            v[i][f] = 0;
}

/* One gathered row, times factor, to row `row` of [seq, dim]: what is beyond both is left out. */
template <typename T>
__device__ void store_row(float *out, const rows_of &like, int row, const float (&v)[T::FEATURES],
                          float factor, place<T> at)
{
    if (row >= like.seq)
        return;
#pragma unroll
    for (int f = 0; f < T::FEATURES; f += 4) {
        const int c = 4 * at.x + f * T::ACROSS;
        float *to = out + (size_t)row * (size_t)like.dim + c;
        if (like.fours && c < like.dim)
            *reinterpret_cast<float4 *>(to) =
                make_float4(v[f] * factor, v[f + 1] * factor, v[f + 2] * factor, v[f + 3] * factor);
        else
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (c + e < like.dim)
                    to[e] = v[f + e] * factor;
    }
}

constexpr float LOG2_E = 0x1.715476p+0f, LN_2 = 0x1.62e43p-1f;

/* How many of `rows` own rows make the blocks of one problem, and whether those of `batch` problems keep the chip busy: six warps a
 * multiprocessor, as many as the larger tiles run with. */
template <typename T> size_t blocks_of(const struct pk_attention *at)
{
    return (at->seq + T::OWN - 1) / T::OWN * at->batch;
}

template <typename T> bool keeps_busy(const struct pk_attention *at, const struct pk_chip *chip)
{
    return blocks_of<T>(at) * T::THREADS >= (size_t)chip->multiprocessors * 6 * 32;
}

} // namespace
