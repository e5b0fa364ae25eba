/* Op checks: every op on the open device against the float64 reference (reference.h), in tables of shapes.
 *
 * Each check goes through its table up to the size asked for; sizes are odd on purpose. t needs dev and label set. */
#pragma once

#include "ops/ops.h"
#include "trial.h"

enum op_size { OPS_TINY, OPS_USUAL, OPS_LARGE }; /* for a sanitizer; for a CPU; for a GPU */

/* Products as g says: its types and its math. */
void check_gemm(struct trial *t, const struct pk_gemm *g, enum op_size upto);
void check_gemm_shape(struct trial *t, struct pk_gemm g);                   /* arrays are the check's own */
void check_softmax(struct trial *t, enum pk_dtype type, enum op_size upto); /* and its backward */
void check_softmax_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols);
void check_scale(struct trial *t, enum pk_dtype type, enum op_size upto);
void check_causal_mask(struct trial *t, enum pk_dtype type, enum op_size upto);
/* Forward and backward; of one shape, type and math. */
void check_fused(struct trial *t, enum pk_dtype type, enum pk_math math, enum op_size upto);
typedef enum pk_code attention_fn(struct pk_device *, const struct pk_attention *, struct pk_err *);
void check_fused_shape(struct trial *t, const struct pk_attention *at, attention_fn *backward);
void check_flash(struct trial *t, enum pk_dtype type, enum pk_math math, enum op_size upto);
/* Scores of +-1000: what is subtracted before the exponential must be the maximum. */
void check_large_scores(struct trial *t);
/* Each op without memory for workspace, refused at the first allocation, the second ...: PK_E_OOM and nothing kept. The number
 * of refusals met is at least these, of flash forward, flash backward, fused backward. */
void check_refused_workspace(struct trial *t, const unsigned least[3]);

/* Rectangles: every byte that should be copied or filled, and no other. */
void check_copies(struct trial *t, enum op_size upto);
void check_fills(struct trial *t);
