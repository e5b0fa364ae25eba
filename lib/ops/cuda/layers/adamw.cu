/* AdamW: the passes of a step that are asked for, together one pass over memory: four values a thread, blocks of 256, the factors of the step
 * from device memory, so that a captured launch serves every step. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"

namespace
{

constexpr unsigned THREADS = 256;

/* What a step makes of the state, the same for every value. */
struct factors {
    float keep, rest1, rest2, rate, correct2, eps;
};

__device__ factors factors_of(const pk_adamw_state &s)
{
    return {1.0f - s.lr * s.decay,     1.0f - s.beta1, 1.0f - s.beta2, s.lr / (1.0f - s.beta1_t),
            1.0f / (1.0f - s.beta2_t), s.eps};
}

/* Values [W i, W i + W): what a pass needs is read, what it changes is written. The state is read last: two divisions wait for it. */
template <typename G, int W> __device__ void step(const pk_adamw &a, size_t i)
{
    const unsigned passes = a.passes;
    float p[W] = {}, m[W] = {}, v[W] = {}, g[W] = {}, d[W] = {};
    if (passes & (PK_ADAMW_FIRST | PK_ADAMW_SECOND))
        load_pack<W>(static_cast<const G *>(a.g), i, g);
    if (passes & (PK_ADAMW_FIRST | PK_ADAMW_UPDATE))
        load_pack<W>(a.m, i, m);
    if (passes & (PK_ADAMW_SECOND | PK_ADAMW_DENOM))
        load_pack<W>(a.v, i, v);
    if (passes & (PK_ADAMW_DECAY | PK_ADAMW_UPDATE | PK_ADAMW_NARROW))
        load_pack<W>(a.p, i, p);
    if ((passes & (PK_ADAMW_UPDATE | PK_ADAMW_DENOM)) == PK_ADAMW_UPDATE)
        load_pack<W>(a.scratch, i, d);
    factors f = {};
    if (a.state) /* what only narrows has none */
        f = factors_of(*a.state);
#pragma unroll
    for (int k = 0; k < W; k++) {
        if (passes & PK_ADAMW_DECAY)
            p[k] *= f.keep;
        if (passes & PK_ADAMW_FIRST)
            m[k] = fmaf(f.rest1, g[k] - m[k], m[k]);
        if (passes & PK_ADAMW_SECOND)
            v[k] = fmaf(f.rest2, g[k] * g[k] - v[k], v[k]);
        if (passes & PK_ADAMW_DENOM)
            d[k] = sqrtf(v[k] * f.correct2) + f.eps;
        if (passes & PK_ADAMW_UPDATE)
            p[k] -= f.rate * m[k] / d[k];
    }
    if (passes & PK_ADAMW_FIRST)
        store_pack(a.m, i, m);
    if (passes & PK_ADAMW_SECOND)
        store_pack(a.v, i, v);
    if ((passes & (PK_ADAMW_UPDATE | PK_ADAMW_DENOM)) == PK_ADAMW_DENOM)
        store_pack(a.scratch, i, d);
    if (passes & (PK_ADAMW_DECAY | PK_ADAMW_UPDATE))
        store_pack(a.p, i, p);
    if (passes & PK_ADAMW_NARROW)
        store_pack(a.narrow, i, p);
}

/* The first block also does what is left of n by W. */
template <typename G, int W> PK_KERNEL((THREADS), update, const pk_adamw a)
{
    pk_wait_for_previous();
    const size_t packs = a.n / W, i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < packs)
        step<G, W>(a, i);
    if (blockIdx.x == 0 && threadIdx.x < a.n % W)
        step<G, 1>(a, packs * W + threadIdx.x);
}

PK_KERNEL((1), tick, pk_adamw_state *s)
{
    pk_wait_for_previous();
    s->beta1_t *= s->beta1;
    s->beta2_t *= s->beta2;
}

template <typename G, int W> int launch(pk_stream s, const pk_adamw &a)
{
    return PK_LAUNCH((update<G, W>), (unsigned)(a.n / W / THREADS + 1), THREADS, 0, s, a);
}

template <typename G> int by_alignment(pk_stream s, const pk_adamw &a)
{
    const uintptr_t bits = pk_bits_of(a.p) | pk_bits_of(a.m) | pk_bits_of(a.v) | pk_bits_of(a.g) |
                           pk_bits_of(a.scratch) | pk_bits_of(a.narrow);
    return pk_can_pack(bits) ? launch<G, 4>(s, a) : launch<G, 1>(s, a);
}

} // namespace

int pk_k_adamw_tick(pk_stream s, struct pk_adamw_state *state)
{
    return PK_LAUNCH(tick, 1, 1, 0, s, state);
}

int pk_k_adamw(pk_stream s, const struct pk_adamw *a)
{
    if (!a->n || !a->passes)
        return 0;
    return a->g_type == PK_BF16 ? by_alignment<bf16>(s, *a) : by_alignment<float>(s, *a);
}
