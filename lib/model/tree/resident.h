/* Resident: the addresses of a model's weights as one table in device memory, with an entry per leaf, for kernels that use a whole
 * model. Patching replaces the entries of divided leaves: one copy uploads the patches, and one operation applies them. */
#pragma once

#include "model/tree/weights.h"
#include "ops/ops.h"

struct pk_resident {
    size_t n, n_patches;                  /* leaves; divided leaves */
    const struct pk_weights *whole;       /* the caller's */
    const struct pk_table_patch *patches; /* [n_patches] in leaf order */
    uint64_t *entries;                    /* [n] the initial table */
    uint64_t *table;                      /* device memory, PK_TAG_WORKSPACE */
    struct pk_table_patch *room;          /* device memory for the uploaded patches */
};

/* Device bytes for a tree with so many leaves, `patches` of them divided, as the pool counts them. */
int64_t pk_resident_bytes(size_t leaves, size_t patches);
/* From whole weights and the divided weights that replace some; both belong to the caller and outlive it. PK_E_OOM. */
enum pk_code pk_resident_new(struct pk_device *dev, const struct pk_weights *whole,
                             const struct pk_weights *pieces, struct pk_arena *a, struct pk_resident *out,
                             struct pk_err *err) PK_MUST_CHECK;
void pk_resident_free(struct pk_device *dev,
                      struct pk_resident *r); /* one that was never made is all zeros */
enum pk_code pk_resident_load(struct pk_device *dev, const struct pk_resident *r,
                              struct pk_err *err) PK_MUST_CHECK; /* every leaf is whole */
enum pk_code pk_resident_patch(struct pk_device *dev, const struct pk_resident *r,
                               struct pk_err *err) PK_MUST_CHECK;
/* The work of load and patch: uploads, and the operation. */
struct pk_work pk_work_resident_load(size_t leaves);
struct pk_work pk_work_resident_patch(size_t patches);
/* Reads the table back after a patch and compares each leaf's entry with the address of its weights. PK_E_CHECK names the leaf. Waits
 * for the device. */
enum pk_code pk_resident_check(struct pk_device *dev, const struct pk_resident *r,
                               const struct pk_weights *pieces, struct pk_arena *a,
                               struct pk_err *err) PK_MUST_CHECK;
