/* Attention: one step, forward and backward, in the implementations that are compared.
 *
 *   vanilla  one kernel per operation, each out of place, as a framework does eagerly:
 *            forward  S = Q K^T;  T = S * scale;  [mask];  P = softmax(T);  O = P V
 *            backward dV = P^T dO;  dP = dO V^T;  dS = softmax'(P, dP);  dT = dS * scale;  dQ = dT K;  dK = dT^T Q
 *            and P, dP, dS, dT alive until backward is over, as autograd held them in the report (peak 4.01 score matrices)
 *   fused    scale folded into the product, single-pass softmax in place, P stored for backward
 *   flash    no score matrix: tiles, recomputed in backward from the log-sum-exp of each row (Dao et al. 2022)
 *   cudnn    the same by the vendor's kernels, in bf16; two side buffers in backward: rowsum(dO * O), and dQ in fp32
 *
 * All memory is from the device's pool and may be taken inside a timed region. */
#pragma once

#include "ops/ops.h"

#include <stdbool.h>

enum pk_attention_variant {
    PK_ATTENTION_VANILLA,
    PK_ATTENTION_FUSED,
    PK_ATTENTION_FLASH,
    PK_ATTENTION_CUDNN,
    PK_ATTENTION_VARIANTS
};

struct pk_attention_shape {
    size_t problems, seq, dim; /* batch * heads, tokens, features of one head */
    int causal;
    float scale;
    enum pk_dtype dtype; /* of inputs and results, and of what is stored of the scores */
    enum pk_math math;   /* of fp32 products */
};

/* Inputs are the caller's; the rest is made by forward and backward and freed by pk_attention_forget. Of s.dtype but for lse. */
struct pk_attention_step {
    struct pk_attention_shape s;
    const void *q, *k, *v, *d_o; /* [problems, seq, dim] */
    void *o, *p;                 /* result; saved for backward: p [problems, seq, seq] or lse */
    float *lse;                  /* [problems, seq] */
    void *dp, *ds, *ds_scaled;   /* vanilla only */
    void *dq, *dk, *dv;
};

/* Is there code of this variant for the shape's type and math, on some device? */
bool pk_attention_has(enum pk_attention_variant v, const struct pk_attention_shape *s);
/* What takes long and is done once per shape, before anything is timed: plans of the vendor's kernels. PK_E_UNAVAILABLE where the
 * device, or its library, has not this variant for this shape and type. */
enum pk_code pk_attention_prepare(struct pk_device *dev, enum pk_attention_variant v,
                                  const struct pk_attention_shape *s, struct pk_err *err) PK_MUST_CHECK;
/* PK_E_OOM when the pool refuses; what was made so far is left for pk_attention_forget. */
enum pk_code pk_attention_forward(struct pk_device *dev, enum pk_attention_variant v,
                                  struct pk_attention_step *t, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_attention_backward(struct pk_device *dev, enum pk_attention_variant v,
                                   struct pk_attention_step *t, struct pk_err *err) PK_MUST_CHECK;
void pk_attention_forget(struct pk_device *dev, struct pk_attention_step *t);

/* Declared work: sums of the ops each variant is made of. */
struct pk_work pk_attention_forward_work(enum pk_attention_variant v, const struct pk_attention_shape *s);
struct pk_work pk_attention_backward_work(enum pk_attention_variant v, const struct pk_attention_shape *s);

/* Predicted live bytes with inputs, in the pool's rounding: after forward, and at the peak, with the workspaces of a GPU's ops
 * (ops/workspace.h). Not predicted: those of a CPU's threads (kilobytes each; of bf16, some problems' arrays in fp32), and of cuDNN's plans. INT64_MAX when it is more. */
size_t pk_attention_saved_bytes(enum pk_attention_variant v, const struct pk_attention_shape *s);
size_t pk_attention_peak_bytes(enum pk_attention_variant v, const struct pk_attention_shape *s,
                               enum pk_device_kind kind);
