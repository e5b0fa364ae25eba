/* Widened: attention over bf16 arrays by the kernels of fp32.
 *
 * Some problems at a time, so that the workspace is bounded: q k v o d_o are widened, the op runs on those, and what it wrote is narrowed.
 * Probabilities alone stay as they are stored: they are [seq, seq], and fused goes through them by blocks. */
#pragma once

#include "ops/cpu/cpu_ops.h"

/* Of fp32 arrays but for p, whose type is at->dtype. */
typedef enum pk_code pk_cpu_attention_fn(struct pk_device *dev, const struct pk_attention *at,
                                         struct pk_err *err);

/* fn itself for fp32. PK_E_OOM. */
enum pk_code pk_cpu_widened(struct pk_device *dev, const struct pk_attention *at, bool backward,
                            pk_cpu_attention_fn *fn, struct pk_err *err);
/* What it takes of the pool, with what fn takes for a group of problems: bytes(). */
size_t pk_cpu_widened_bytes(const struct pk_attention *at, bool backward, unsigned threads,
                            size_t (*bytes)(const struct pk_attention *at, unsigned threads));
