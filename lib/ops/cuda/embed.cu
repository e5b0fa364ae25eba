/* Embed: rows of a table by token: a row a warp, blocks of 256 threads, four packs a lane in flight. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/rows.h"

namespace
{

constexpr int BLOCK = 256, EACH = 4;

template <typename T, int W> PK_KERNEL((BLOCK), look_up, const pk_embed e)
{
    const size_t row = row_of_thread<WARP, BLOCK>();
    if (row >= e.rows)
        return;
    const unsigned packs = (unsigned)(e.cols / W);
    const T *from = static_cast<const T *>(e.table) + (size_t)e.tokens[row] * e.cols;
    T *to = static_cast<T *>(e.out) + row * e.cols;
    for (unsigned first = threadIdx.x % WARP; first < packs; first += EACH * WARP) {
        pack<T, W> p[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (first + k * WARP < packs)
                p[k] = pack_at<W>(from, first + k * WARP);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (first + k * WARP < packs)
                reinterpret_cast<pack<T, W> *>(to)[first + k * WARP] = p[k];
    }
}

template <typename T> int launch(pk_stream s, const pk_embed &e)
{
    const unsigned blocks = blocks_for_rows<WARP, BLOCK>(e.rows);
    if (pk_can_pack(pk_bits_of(e.table) | pk_bits_of(e.out) | e.cols * sizeof(T)))
        PK_LAUNCH((look_up<T, FULL<T>>), blocks, BLOCK, 0, s, e);
    else
        PK_LAUNCH((look_up<T, 1>), blocks, BLOCK, 0, s, e);
    return PK_LAUNCHED();
}

} // namespace

int pk_k_embed(pk_stream s, const struct pk_embed *e)
{
    if (!e->rows || !e->cols)
        return 0;
    return e->dtype == PK_BF16 ? launch<bf16>(s, *e) : launch<float>(s, *e);
}
