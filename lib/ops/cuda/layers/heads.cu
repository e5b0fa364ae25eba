/* Heads: rows of tokens to heads and back, some parts rotated by their position (RoPE) on the way: a token a block, a pack of a head a
 * thread and step, two in flight.
 *
 * Blocks are (packs of a head) x (as many heads as make about 256 threads). Packs are 16 bytes; where something is not aligned to that, a
 * pair of elements, or one where nothing is rotated. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"

namespace
{

constexpr unsigned THREADS = 256, EACH = 2;

/* A head of a part of the block's token, in packs: where it is on either side. */
struct head_position {
    size_t row, head;
    unsigned part;
};

template <int W> __device__ head_position head_position_of(const pk_heads &h, unsigned which, unsigned repeat)
{
    const unsigned token = blockIdx.x, seq = (unsigned)h.seq, heads = (unsigned)h.heads;
    const unsigned part = which / heads, head = which % heads;
    const size_t packs = h.dim / W, in = (token / seq * heads + head) * repeat;
    return {token * (pk_heads_stride(&h) / W) + which * packs, (in * seq + token % seq) * packs, part};
}

/* Pairs of pack i by the angles of the block's token: forwards, or back. */
template <int W> __device__ void rotate(const pk_heads &h, float (&x)[W], unsigned i, bool back)
{
    float rope_table[W];
    load_pack<W>(h.rope_table + blockIdx.x % (unsigned)h.seq * h.dim, i, rope_table);
#pragma unroll
    for (int k = 0; k + 1 < W; k += 2) {
        const float c = rope_table[k], s = back ? -rope_table[k + 1] : rope_table[k + 1], even = x[k];
        x[k] = fmaf(even, c, -x[k + 1] * s);
        x[k + 1] = fmaf(even, s, x[k + 1] * c);
    }
}

template <typename T, int W> __device__ void rotate(const pk_heads &h, pack<T, W> &p, unsigned i, bool back)
{
    float x[W];
    widen(p, x);
    rotate<W>(h, x, i, back);
    narrow(x, p);
}

/* The sum of the heads that are repetitions of one, rotated back, rounded once. */
template <typename T, int W>
__device__ pack<T, W> sum_of(const pk_heads &h, const pack<T, W> *head, unsigned i, bool rotated)
{
    const size_t step = h.seq * (h.dim / W);
    pack<T, W> p;
    float sum[W], x[W];
    widen(head[i], sum);
    for (size_t r = 1; r < h.repeat; r++) {
        widen(head[r * step + i], x);
#pragma unroll
        for (int k = 0; k < W; k++)
            sum[k] += x[k];
    }
    if (rotated)
        rotate<W>(h, sum, i, true);
    narrow(sum, p);
    return p;
}

template <typename T, int W> __device__ pack<T, W> *packs_of(void *x)
{
    return static_cast<pack<T, W> *>(x);
}

/* h.head without an index that is not known when compiling. */
__device__ void *head_of(const pk_heads &h, unsigned part)
{
    return part == 0 ? h.head[0] : part == 1 ? h.head[1] : h.head[2];
}

/* REPEATED: heads of keys and values that several heads of queries share. */
template <typename T, int W, bool MERGE, bool REPEATED> PK_KERNEL((THREADS), moved, const pk_heads h)
{
    pk_wait_for_previous();
    const size_t repeat = REPEATED ? h.repeat : 1;
    const unsigned all = (unsigned)h.heads * h.parts, packs = (unsigned)(h.dim / W);
    constexpr bool SUMS = MERGE && REPEATED;
    for (unsigned i = threadIdx.x; i < packs; i += blockDim.x)
        for (unsigned first = threadIdx.y; first < all; first += EACH * blockDim.y) {
            pack<T, W> p[EACH];
            head_position at[EACH];
#pragma unroll
            for (unsigned e = 0; e < EACH; e++)
                if (first + e * blockDim.y < all) {
                    at[e] = head_position_of<W>(h, first + e * blockDim.y, (unsigned)repeat);
                    const pack<T, W> *from = MERGE ? packs_of<T, W>(head_of(h, at[e].part)) + at[e].head
                                                   : packs_of<T, W>(h.rows) + at[e].row;
                    if constexpr (SUMS)
                        p[e] = sum_of<T, W>(h, from, i, h.rotated >> at[e].part & 1);
                    else
                        p[e] = from[i];
                }
#pragma unroll
            for (unsigned e = 0; e < EACH; e++)
                if (first + e * blockDim.y < all) {
                    if (!SUMS && h.rotated >> at[e].part & 1)
                        rotate(h, p[e], i, MERGE);
                    if (MERGE)
                        packs_of<T, W>(h.rows)[at[e].row + i] = p[e];
                    else
                        for (size_t r = 0; r < repeat; r++)
                            packs_of<T, W>(head_of(h, at[e].part))[at[e].head + r * h.seq * packs + i] = p[e];
                }
        }
}

template <typename T, int W, bool MERGE> int launch(pk_stream s, const pk_heads &h)
{
    const size_t packs = h.dim / W, all = h.heads * h.parts, x = packs < THREADS ? packs : THREADS;
    const size_t most = THREADS / x, steps = (all + most - 1) / most; /* as many heads in each */
    const dim3 block((unsigned)x, (unsigned)((all + steps - 1) / steps));
    const unsigned blocks = (unsigned)(h.batch * h.seq);
    return pk_heads_repeat(&h) > 1 ? PK_LAUNCH((moved<T, W, MERGE, true>), blocks, block, 0, s, h)
                                   : PK_LAUNCH((moved<T, W, MERGE, false>), blocks, block, 0, s, h);
}

template <typename T, bool MERGE> int by_alignment(pk_stream s, const pk_heads &h)
{
    uintptr_t bits = pk_bits_of(h.rows) | h.dim * sizeof(T) | pk_heads_stride(&h) * sizeof(T) |
                     (h.rotated ? pk_bits_of(h.rope_table) : 0);
    for (unsigned p = 0; p < h.parts; p++)
        bits |= pk_bits_of(h.head[p]);
    if (pk_can_pack(bits))
        return launch<T, FULL<T>, MERGE>(s, h);
    return (h.dim | pk_heads_stride(&h)) % 2 ? launch<T, 1, MERGE>(s, h) : launch<T, 2, MERGE>(s, h);
}

template <bool MERGE> int by_type(pk_stream s, const pk_heads &h)
{
    if (!h.batch || !h.seq || !h.heads || !h.dim)
        return 0;
    return h.dtype == PK_BF16 ? by_alignment<bf16, MERGE>(s, h) : by_alignment<float, MERGE>(s, h);
}

} // namespace

int pk_k_split_heads(pk_stream s, const struct pk_heads *h)
{
    return by_type<false>(s, *h);
}

int pk_k_merge_heads(pk_stream s, const struct pk_heads *h)
{
    return by_type<true>(s, *h);
}
