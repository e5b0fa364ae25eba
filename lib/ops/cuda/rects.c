/* Rects: launching copies and fills, the tables of copies that are done again and again, and patches of tables. */
#include "ops/cuda/cuda_ops.h"

#include "device/cuda/cuda.h"
#include "ops/cuda/kernels.h"
#include "ops/ops.h"

enum pk_code pk_cuda_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_copy2d(pk_cuda_stream(dev, PK_LANE_COMPUTE), v, n), "launching copies",
                         err);
}

enum pk_code pk_cuda_fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_fill(pk_cuda_stream(dev, PK_LANE_COMPUTE), v, n), "launching a fill", err);
}

enum pk_code pk_cuda_lay_down(struct pk_device *dev, struct pk_copies *c, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t bytes = c->n * sizeof(struct pk_copy_piece);
    struct pk_copy_piece *pieces = pk_new_n(&a, struct pk_copy_piece, c->n);
    c->table = pk_device_alloc(dev, bytes, PK_TAG_WORKSPACE);
    if (!c->table)
        return pk_device_oom(dev, err);
    c->tiles = pk_k_copy_pieces(c->v, c->n, pieces);
    enum pk_code rc =
        pk_device_copy(dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, c->table, pieces, bytes, err);
    return rc ? rc : pk_device_sync(dev, err);
}

enum pk_code pk_cuda_copies(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_copy_table(pk_cuda_stream(dev, PK_LANE_COMPUTE), c->table, c->n, c->tiles),
                         "launching a table of copies", err);
}

enum pk_code pk_cuda_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                                 size_t n, struct pk_err *err)
{
    return pk_cuda_check(dev, pk_k_table_patch(pk_cuda_stream(dev, PK_LANE_COMPUTE), table, v, n),
                         "launching patches of a table", err);
}
