/* Table: entries exchanged by their index: a thread a patch, blocks of 256, no shared memory. Reads a patch, writes an entry. */
#include "ops/cuda/kernels.h"
#include "ops/cuda/launch.h"

namespace
{

constexpr unsigned THREADS = 256;

PK_KERNEL((THREADS), patch_table, uint64_t *table, const pk_table_patch *v, size_t n)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        table[v[i].index] = v[i].value;
}

} // namespace

int pk_k_table_patch(pk_stream s, uint64_t *table, const struct pk_table_patch *v, size_t n)
{
    PK_LAUNCH(patch_table, (unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, s, table, v, n);
    return PK_LAUNCHED();
}
