/* Flash forward with ieee products: which tiles, by width and by how many blocks there are. flash_forward_kernel.h has the kernel. */
#include "ops/cuda/flash_forward_kernel.h"
#include "ops/cuda/flash_tile.h"

namespace
{

/* Rows of a thread: many make more of each load, few make more blocks. */
template <int DIM, int ACROSS, int THREADS, int COLS, bool EIGHT>
int launch(pk_stream s, const pk_chip *chip, const pk_attention *at)
{
    int rc = INVALID_VALUE;
    if (EIGHT && launched<tile<DIM, ACROSS, THREADS, EIGHT ? 8 : 4, COLS>>(s, chip, at, false, &rc))
        return rc;
    if (!launched<tile<DIM, ACROSS, THREADS, 4, COLS>>(s, chip, at, false, &rc) &&
        !launched<tile<DIM, ACROSS, THREADS, 2, COLS>>(s, chip, at, false, &rc))
        launched<tile<DIM, ACROSS, THREADS, 1, COLS>>(s, chip, at, true, &rc);
    return rc;
}

} // namespace

int pk_k_flash_forward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    if (!at->batch || !at->seq || !at->dim)
        return 0;
    if (at->seq > INT32_MAX / 2 || at->dim > PK_FLASH_DIM)
        return INVALID_VALUE;
    return at->dim <= 16    ? launch<16, 4, 128, 8, true>(s, chip, at)
           : at->dim <= 32  ? launch<32, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 64  ? launch<64, 8, 128, 8, true>(s, chip, at)
           : at->dim <= 128 ? launch<128, 16, 256, 4, true>(s, chip, at)
                            : launch<256, 16, 256, 2, false>(s, chip, at);
}
