/* Cuda ops: the rows of the table that have files of their own. Private to lib/ops/cuda. */
#pragma once

#include "ops/ops.h"

/* fused.c */
enum pk_code pk_cuda_fused_forward(struct pk_device *dev, const struct pk_attention *at,
                                   struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_cuda_fused_backward(struct pk_device *dev, const struct pk_attention *at,
                                    struct pk_err *err) PK_MUST_CHECK;
