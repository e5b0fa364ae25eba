/* Resident: the addresses of a model's weights as one table in device memory, an entry a leaf, as kernels that take a whole model read
 * it. Patching exchanges the entries of divided leaves: the patches go up in one copy, and one operation applies them. */
#pragma once

#include "model/tree/weights.h"
#include "ops/ops.h"

struct pk_resident {
    size_t n, n_patches;                  /* leaves; those that are divided */
    const struct pk_weights *whole;       /* the caller's */
    const struct pk_table_patch *patches; /* [n_patches] in leaf order */
    uint64_t *entries;                    /* [n] as the table is made */
    uint64_t *table;                      /* device memory, PK_TAG_WORKSPACE */
    struct pk_table_patch *room;          /* likewise: where patches go up to */
};

/* Device bytes for the leaves of a tree, `patches` of them divided, as the pool counts them. */
int64_t pk_resident_bytes(size_t leaves, size_t patches);
/* From whole weights and the divided ones that replace some; both stay the caller's, and outlive it. PK_E_OOM. */
enum pk_code pk_resident_new(struct pk_device *dev, const struct pk_weights *whole,
                             const struct pk_weights *pieces, struct pk_arena *a, struct pk_resident *out,
                             struct pk_err *err) PK_MUST_CHECK;
void pk_resident_free(struct pk_device *dev,
                      struct pk_resident *r); /* one that was never made is all zeros */
enum pk_code pk_resident_load(struct pk_device *dev, const struct pk_resident *r,
                              struct pk_err *err) PK_MUST_CHECK; /* every leaf is whole */
enum pk_code pk_resident_patch(struct pk_device *dev, const struct pk_resident *r,
                               struct pk_err *err) PK_MUST_CHECK;
/* What load and patch do: uploads, and the operation. */
struct pk_work pk_work_resident_load(size_t leaves);
struct pk_work pk_work_resident_patch(size_t patches);
/* Reads the table back after a patch: each leaf's entry against where its weights lie. PK_E_CHECK with the leaf. Waits for the device. */
enum pk_code pk_resident_check(struct pk_device *dev, const struct pk_resident *r,
                               const struct pk_weights *pieces, struct pk_arena *a,
                               struct pk_err *err) PK_MUST_CHECK;
