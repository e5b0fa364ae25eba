/* Attention: one step, forward and backward, in the implementations that are compared.
 *
 *   vanilla  one kernel per operation, each out of place, as a framework does eagerly:
 *            forward  S = Q K^T;  T = S * scale;  [mask];  P = softmax(T);  O = P V
 *            backward dV = P^T dO;  dP = dO V^T;  dS = softmax'(P, dP);  dT = dS * scale;  dQ = dT K;  dK = dT^T Q
 *            and P, dP, dS, dT alive until backward ends, as autograd kept them in the report (peak 4.01 score matrices)
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
    enum pk_dtype dtype; /* of inputs, results and stored scores */
    enum pk_math math;   /* of fp32 products */
};

/* The caller owns the inputs; forward and backward allocate the rest, and pk_attention_forget frees it. All arrays but lse have the type
 * s.dtype. */
struct pk_attention_step {
    struct pk_attention_shape s;
    const void *q, *k, *v, *d_o; /* [problems, seq, dim] */
    void *o, *p;                 /* result; saved for backward: p [problems, seq, seq], or lse */
    float *lse;                  /* [problems, seq] */
    void *dp, *ds, *ds_scaled;   /* vanilla only */
    void *dq, *dk, *dv;
};

/* True if some device has this variant for the shape's type and math. */
bool pk_attention_has(enum pk_attention_variant v, const struct pk_attention_shape *s);
/* Slow preparations, once per shape and before timing: plans of the vendor's kernels. PK_E_UNAVAILABLE when the device or its library
 * does not have this variant for this shape and type. */
enum pk_code pk_attention_prepare(struct pk_device *dev, enum pk_attention_variant v,
                                  const struct pk_attention_shape *s, struct pk_err *err) PK_MUST_CHECK;
/* PK_E_OOM when the pool refuses; call pk_attention_forget then, too. */
enum pk_code pk_attention_forward(struct pk_device *dev, enum pk_attention_variant v,
                                  struct pk_attention_step *t, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_attention_backward(struct pk_device *dev, enum pk_attention_variant v,
                                   struct pk_attention_step *t, struct pk_err *err) PK_MUST_CHECK;
void pk_attention_forget(struct pk_device *dev, struct pk_attention_step *t);

/* Declared work: the sum over the ops of a variant. */
struct pk_work pk_attention_forward_work(enum pk_attention_variant v, const struct pk_attention_shape *s);
struct pk_work pk_attention_backward_work(enum pk_attention_variant v, const struct pk_attention_shape *s);

/* Predicted live bytes including inputs, rounded as by the pool: after forward, and at the peak, with the workspaces of a GPU's ops
 * (ops/workspace.h). Without the workspaces of CPU threads (kilobytes each; for bf16 some problems' arrays in fp32) and of cuDNN's
 * plans. At most INT64_MAX. */
size_t pk_attention_saved_bytes(enum pk_attention_variant v, const struct pk_attention_shape *s);
size_t pk_attention_peak_bytes(enum pk_attention_variant v, const struct pk_attention_shape *s,
                               enum pk_device_kind kind);
