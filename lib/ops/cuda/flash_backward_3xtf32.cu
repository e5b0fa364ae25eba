/* Flash backward with 3xtf32 products: which tiles, by width. flash_backward_kernel.h has the kernels. */
#include "ops/cuda/flash_backward_kernel.h"
#include "ops/cuda/flash_tile_3xtf32.h"

namespace
{

/* Four warps a block, or one where blocks of four would leave multiprocessors without any. */
template <int DIM, int SEEN> int launch(pk_stream s, const pk_chip *chip, const pk_attention *at)
{
    int rc = INVALID_VALUE;
    if (!launched<tile_3xtf32<DIM, 4, SEEN>>(s, chip, at, false, &rc))
        launched<tile_3xtf32<DIM, 1, SEEN>>(s, chip, at, true, &rc);
    return rc;
}

} // namespace

int pk_k_flash_backward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    const int rc = begin(s, at, PK_FLASH_3XTF32_DIM);
    if (rc)
        return rc;
    return at->dim <= 16   ? launch<16, 32>(s, chip, at)
           : at->dim <= 32 ? launch<32, 32>(s, chip, at)
           : at->dim <= 64 ? launch<64, 32>(s, chip, at)
                           : launch<128, 16>(s, chip, at);
}
