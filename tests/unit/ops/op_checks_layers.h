/* Op checks of layers: each on the open device against the float64 reference, in every element type, with every array that may be
 * another and every one that may be absent. As op_checks.h: in tables of odd shapes, up to the size asked for. */
#pragma once

#include "op_checks.h"

void check_embed(struct trial *t, enum pk_dtype type, enum op_size upto); /* and its backward */
void check_norm(struct trial *t, enum pk_dtype type, enum op_size upto);
void check_norm_backward(struct trial *t, enum pk_dtype type, enum op_size upto);
void check_heads(struct trial *t, enum pk_dtype type, enum op_size upto); /* split and merge */
void check_map(struct trial *t, enum pk_dtype type, enum op_size upto);
void check_glu(struct trial *t, enum pk_dtype type, enum op_size upto); /* and its backward */
void check_cross_entropy(struct trial *t, enum pk_dtype type, enum op_size upto);
void check_cross_entropy_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols, size_t stride);
void check_nll(struct trial *t, enum pk_dtype type,
               enum op_size upto); /* log_softmax, nll and both backward */
void check_mean(struct trial *t, enum op_size upto);
void check_adamw(struct trial *t, enum pk_dtype g_type, enum op_size upto); /* together and pass by pass */
/* NaN and infinity among logits reach the loss. */
void check_bad_logits(struct trial *t, enum pk_dtype type);
