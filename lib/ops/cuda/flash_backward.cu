/* Flash backward with ieee products: which tiles, by width and by how many blocks there are. flash_backward_kernel.h has the kernels. */
#include "ops/cuda/flash_backward_kernel.h"
#include "ops/cuda/flash_tile.h"

namespace
{

/* Rows of a thread: many make more of each load, few make more blocks. */
template <int DIM, int ACROSS, int THREADS, int COLS, bool FOUR>
int launch(pk_stream s, const pk_chip *chip, const pk_attention *at)
{
    int rc = INVALID_VALUE;
    if (FOUR && launched<tile<DIM, ACROSS, THREADS, FOUR ? 4 : 2, COLS>>(s, chip, at, false, &rc))
        return rc;
    if (!launched<tile<DIM, ACROSS, THREADS, 2, COLS>>(s, chip, at, false, &rc))
        launched<tile<DIM, ACROSS, THREADS, 1, COLS>>(s, chip, at, true, &rc);
    return rc;
}

} // namespace

int pk_k_flash_backward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    const int rc = begin(s, at, PK_FLASH_DIM);
    if (rc)
        return rc;
    return at->dim <= 16    ? launch<16, 4, 128, 8, true>(s, chip, at)
           : at->dim <= 32  ? launch<32, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 64  ? launch<64, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 128 ? launch<128, 16, 256, 4, true>(s, chip, at)
                            : launch<256, 16, 256, 2, false>(s, chip, at);
}
