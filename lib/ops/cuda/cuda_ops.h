/* Cuda ops: the rows of the table with separate files. Private to lib/ops/cuda. */
#pragma once

#include "ops/ops.h"
#include "ops/workspace.h"

struct pk_ceilings;
struct pk_curves;
/* ceilings.c: pk_ceilings_measure of a GPU */
enum pk_code pk_cuda_ceilings(struct pk_device *dev, struct pk_ceilings *out, struct pk_curves *curves,
                              struct pk_err *err) PK_MUST_CHECK;

/* Rows of pk_ops_cuda: attention/fused.c, attention/flash.c, and cudnn/sdpa.c if the build has cuDNN's headers (PK_HAVE_CUDNN) */
#define PK_CUDA_OP(op) __typeof__(pk_op_##op) pk_cuda_##op;
PK_ATTENTION_OPS(PK_CUDA_OP)
PK_CUDNN_OPS(PK_CUDA_OP)
#undef PK_CUDA_OP
/* The backward pass of fused with given blocks, for tests: with pk_fused_blocks only long sequences have several. */
enum pk_code pk_cuda_fused_backward_by(struct pk_device *dev, const struct pk_attention *at,
                                       const struct pk_fused_blocks *most, struct pk_err *err) PK_MUST_CHECK;
