/* Key ranges: how backward of one problem is shared by several threads.
 *
 * Keys are cut into n ranges of equal work. A range owns its rows of dk and dv; its part of dq goes to dq
 * itself (range 0) or to a partial copy, added up at the end. */
#pragma once

#include "ops/cpu/cpu_ops.h"

struct pk_key_ranges {
    const struct pk_attention *at;
    size_t n;
    float *partial; /* (n - 1) x [batch, seq, dim], of the pool; NULL when n is 1 */
};

/* PK_E_OOM when the pool refuses the partial copies. */
enum pk_code pk_key_ranges_init(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_attention *at,
                                struct pk_err *err);

/* What it takes of the pool, in its rounding. */
size_t pk_key_ranges_bytes(const struct pk_attention *at, unsigned threads);

/* First key of a range; of range n: seq. */
size_t pk_key_ranges_begin(const struct pk_key_ranges *r, size_t range);

/* Where a range puts its part of a problem's dq, [seq, dim]. */
float *pk_key_ranges_dq(const struct pk_key_ranges *r, size_t problem, size_t range);

/* Adds the parts into dq and gives the copies back. */
void pk_key_ranges_sum(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_kernels *k);
