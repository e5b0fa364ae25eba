/* Cuda ops: the rows of the table with separate files. Private to lib/ops/cuda. */
#pragma once

#include "ops/ops.h"
#include "ops/workspace.h"

/* Rows of pk_ops_cuda: attention/fused.c, attention/flash.c, and cudnn/sdpa.c if the build has cuDNN's headers (PK_HAVE_CUDNN) */
#define PK_CUDA_OP(op) __typeof__(pk_op_##op) pk_cuda_##op;
PK_ATTENTION_OPS(PK_CUDA_OP)
PK_CUDNN_OPS(PK_CUDA_OP)
#undef PK_CUDA_OP
/* The backward pass of fused with given blocks, for tests: with pk_fused_blocks only long sequences have several. */
enum pk_code pk_cuda_fused_backward_by(struct pk_device *dev, const struct pk_attention *at,
                                       const struct pk_fused_blocks *most, struct pk_err *err) PK_MUST_CHECK;
