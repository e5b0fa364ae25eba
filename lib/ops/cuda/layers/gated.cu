/* Gated: the gated unit and its gradients, each element read once and written once: a piece of a row a block of 128 threads, four packs
 * of every input in flight a thread forwards, two backwards. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"
#include "ops/cuda/silu.h"

namespace
{

constexpr unsigned THREADS = 128, EACH = 4, EACH_BACK = 2;

template <typename T, int W> PK_KERNEL((THREADS), forward, const pk_glu g, const pieces cut)
{
    pk_wait_for_previous();
    const T *gate = row_at<const T>(g.gate, cut.row() * g.stride),
            *up = row_at<const T>(g.up, cut.row() * g.stride);
    const unsigned begin = cut.begin() + threadIdx.x, end = cut.end();
    pack<T, W> a[EACH], b[EACH];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < end) {
            a[e] = pack_at<W>(gate, begin + e * THREADS);
            b[e] = pack_at<W>(up, begin + e * THREADS);
        }
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (begin + e * THREADS < end) {
            float x[W], u[W];
            widen(a[e], x);
            widen(b[e], u);
#pragma unroll
            for (int k = 0; k < W; k++)
                x[k] = silu(x[k]) * u[k];
            store_pack(row_at<T>(g.y, cut.row() * g.cols), begin + e * THREADS, x);
        }
}

/* Results of a pack; d_y may be where y is, and gate and up where their gradients are: all are read before. */
template <typename T, int W>
__device__ void store_gradients(const pk_glu_backward &g, const pieces &cut, unsigned i,
                                const pack<T, W> &gate, const pack<T, W> &up, const pack<T, W> &d_y)
{
    float x[W], u[W], d[W], y[W];
    widen(gate, x);
    widen(up, u);
    widen(d_y, d);
#pragma unroll
    for (int k = 0; k < W; k++) {
        const float s = sigmoid(x[k]), act = x[k] * s;
        y[k] = act * u[k];
        x[k] = d[k] * u[k] * s * fmaf(x[k], 1.0f - s, 1.0f);
        u[k] = d[k] * act;
    }
    store_pack(row_at<T>(g.d_gate, cut.row() * g.stride), i, x);
    store_pack(row_at<T>(g.d_up, cut.row() * g.stride), i, u);
    if (g.y)
        store_pack(row_at<T>(g.y, cut.row() * g.cols), i, y);
}

template <typename T, int W> PK_KERNEL((THREADS), backward, const pk_glu_backward g, const pieces cut)
{
    pk_wait_for_previous();
    const T *gate = row_at<const T>(g.gate, cut.row() * g.stride),
            *up = row_at<const T>(g.up, cut.row() * g.stride),
            *d_y = row_at<const T>(g.d_y, cut.row() * g.cols);
    const unsigned begin = cut.begin() + threadIdx.x, end = cut.end();
    pack<T, W> a[EACH_BACK], b[EACH_BACK], d[EACH_BACK];
#pragma unroll
    for (unsigned e = 0; e < EACH_BACK; e++)
        if (begin + e * THREADS < end) {
            a[e] = pack_at<W>(gate, begin + e * THREADS);
            b[e] = pack_at<W>(up, begin + e * THREADS);
            d[e] = pack_at<W>(d_y, begin + e * THREADS);
        }
#pragma unroll
    for (unsigned e = 0; e < EACH_BACK; e++)
        if (begin + e * THREADS < end)
            store_gradients<T, W>(g, cut, begin + e * THREADS, a[e], b[e], d[e]);
}

template <typename T, int W> int launch(pk_stream s, const pk_glu &g)
{
    const pieces cut(g.cols / W, THREADS * EACH);
    return PK_LAUNCH((forward<T, W>), cut.blocks(g.rows), THREADS, 0, s, g, cut);
}

template <typename T, int W> int launch(pk_stream s, const pk_glu_backward &g)
{
    const pieces cut(g.cols / W, THREADS * EACH_BACK);
    return PK_LAUNCH((backward<T, W>), cut.blocks(g.rows), THREADS, 0, s, g, cut);
}

template <typename T, typename G> int by_alignment(pk_stream s, const G &g, uintptr_t bits)
{
    return pk_can_pack(bits | (g.cols | g.stride) * sizeof(T)) ? launch<T, FULL<T>>(s, g)
                                                               : launch<T, 1>(s, g);
}

template <typename G> int by_type(pk_stream s, const G &g, uintptr_t bits)
{
    if (!g.rows || !g.cols)
        return 0;
    return g.dtype == PK_BF16 ? by_alignment<bf16>(s, g, bits) : by_alignment<float>(s, g, bits);
}

} // namespace

int pk_k_glu(pk_stream s, const struct pk_glu *g)
{
    return by_type(s, *g, pk_bits_of(g->gate) | pk_bits_of(g->up) | pk_bits_of(g->y));
}

int pk_k_glu_backward(pk_stream s, const struct pk_glu_backward *g)
{
    return by_type(s, *g,
                   pk_bits_of(g->gate) | pk_bits_of(g->up) | pk_bits_of(g->d_y) | pk_bits_of(g->d_gate) |
                       pk_bits_of(g->d_up) | pk_bits_of(g->y));
}
