/* Resident: the table, its patches, and what it must be afterwards. */
#include "model/tree/resident.h"

static int64_t allocated_bytes(size_t bytes)
{
    return (int64_t)pk_pool_rounded(bytes ? bytes : 1);
}

int64_t pk_resident_bytes(size_t leaves, size_t patches)
{
    return allocated_bytes(leaves * sizeof(uint64_t)) +
           allocated_bytes(patches * sizeof(struct pk_table_patch));
}

enum pk_code pk_resident_new(struct pk_device *dev, const struct pk_weights *whole,
                             const struct pk_weights *pieces, struct pk_arena *a, struct pk_resident *out,
                             struct pk_err *err)
{
    struct pk_table_patch *v = pk_new_n(a, struct pk_table_patch, whole->n_leaves);
    *out = (struct pk_resident){.n = whole->n_leaves,
                                .whole = whole,
                                .patches = v,
                                .entries = pk_new_n(a, uint64_t, whole->n_leaves)};
    for (size_t i = 0; i < out->n; i++) {
        out->entries[i] = (uintptr_t)whole->leaf[i];
        if (pieces->leaf[i])
            v[out->n_patches++] = (struct pk_table_patch){i, (uintptr_t)pieces->leaf[i]};
    }
    out->table = pk_device_alloc(dev, out->n * sizeof *out->table, PK_TAG_WORKSPACE);
    if (out->table)
        out->room = pk_device_alloc(dev, out->n_patches * sizeof *v, PK_TAG_WORKSPACE);
    return out->room ? PK_OK : pk_device_oom(dev, err);
}

void pk_resident_free(struct pk_device *dev, struct pk_resident *r)
{
    pk_device_free(dev, r->room);
    pk_device_free(dev, r->table);
    *r = (struct pk_resident){0};
}

enum pk_code pk_resident_load(struct pk_device *dev, const struct pk_resident *r, struct pk_err *err)
{
    return pk_device_copy(dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, r->table, r->entries,
                          r->n * sizeof *r->entries, err);
}

enum pk_code pk_resident_patch(struct pk_device *dev, const struct pk_resident *r, struct pk_err *err)
{
    enum pk_code rc = pk_device_copy(dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, r->room, r->patches,
                                     r->n_patches * sizeof *r->patches, err);
    return rc ? rc : pk_op_table_patch(dev, r->table, r->room, r->n_patches, err);
}

struct pk_work pk_work_resident_load(size_t leaves)
{
    return (struct pk_work){.bytes =
                                pk_device_copy_declares(PK_COPY_HOST_TO_DEVICE, leaves * sizeof(uint64_t))};
}

struct pk_work pk_work_resident_patch(size_t patches)
{
    struct pk_work w = pk_work_table_patch(patches);
    w.bytes += pk_device_copy_declares(PK_COPY_HOST_TO_DEVICE, patches * sizeof(struct pk_table_patch));
    return w;
}

enum pk_code pk_resident_check(struct pk_device *dev, const struct pk_resident *r,
                               const struct pk_weights *pieces, struct pk_arena *a, struct pk_err *err)
{
    uint64_t *got = pk_new_n(a, uint64_t, r->n);
    enum pk_code rc = pk_device_copy_now(dev, PK_COPY_DEVICE_TO_HOST, got, r->table, r->n * sizeof *got, err);
    for (size_t i = 0; !rc && i < r->n; i++) {
        const void *want = pieces->leaf[i] ? pieces->leaf[i] : r->whole->leaf[i];
        if (got[i] == (uintptr_t)want)
            continue;
        rc = pk_fail(err, PK_E_CHECK, "the table of weights is wrong at leaf %zu", i);
        pk_why(err, "it should have %s",
               pieces->leaf[i] ? "the address of its slice" : "its previous address");
    }
    return rc;
}
