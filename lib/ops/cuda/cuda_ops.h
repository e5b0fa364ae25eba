/* Cuda ops: the rows of the table that have files of their own. Private to lib/ops/cuda. */
#pragma once

#include "ops/ops.h"
#include "ops/workspace.h"

struct pk_ceilings;
/* ceilings.c: pk_ceilings_measure of a GPU */
enum pk_code pk_cuda_ceilings(struct pk_device *dev, struct pk_ceilings *out,
                              struct pk_err *err) PK_MUST_CHECK;

/* attention/fused.c */
enum pk_code pk_cuda_fused_forward(struct pk_device *dev, const struct pk_attention *at,
                                   struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_cuda_fused_backward(struct pk_device *dev, const struct pk_attention *at,
                                    struct pk_err *err) PK_MUST_CHECK;
/* The same in blocks as given, for tests: with those of pk_fused_blocks only long sequences have several. */
enum pk_code pk_cuda_fused_backward_by(struct pk_device *dev, const struct pk_attention *at,
                                       const struct pk_fused_blocks *most, struct pk_err *err) PK_MUST_CHECK;

/* attention/flash.c */
enum pk_code pk_cuda_flash_forward(struct pk_device *dev, const struct pk_attention *at,
                                   struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_cuda_flash_backward(struct pk_device *dev, const struct pk_attention *at,
                                    struct pk_err *err) PK_MUST_CHECK;

/* cudnn/sdpa.c, where its headers were there (PK_HAVE_CUDNN) */
enum pk_code pk_cuda_cudnn_prepare(struct pk_device *dev, const struct pk_attention *at,
                                   struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_cuda_cudnn_forward(struct pk_device *dev, const struct pk_attention *at,
                                   struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_cuda_cudnn_backward(struct pk_device *dev, const struct pk_attention *at,
                                    struct pk_err *err) PK_MUST_CHECK;
