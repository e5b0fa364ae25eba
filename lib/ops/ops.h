/* Ops: the mathematics experiments are made of, on whichever device is open.
 *
 * Arrays are row-major, fp32 unless a type says otherwise, 64-byte aligned at their start (the pool's memory is).
 * `batch` problems lie one after the other. Every op has a pk_work_* twin that counts its FLOPs and bytes from the same
 * shapes. Ops run on PK_LANE_COMPUTE and may be asynchronous; they take workspace from the device's pool
 * and return PK_E_OOM when it refuses. Tests compare with tests/unit/ops/reference.h.
 *
 * Each device kind fills one struct pk_ops (ops/cpu/cpu_ops.c, ops/null_ops.c, ops/cuda/...); callers use the pk_op_*
 * wrappers. A NULL row means "not on this device" and answers PK_E_UNAVAILABLE, as does an op for types and ways of making products
 * that its device has not; it says which, and never computes in another way instead. */
#pragma once

#include "device/device.h"
#include "ops/layer_shapes.h"
#include "ops/shapes.h"
#include "ops/work.h"

struct pk_copies;

struct pk_ops {
    enum pk_code (*gemm)(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err);
    /* y = alpha * x, n elements; x may be y. Elements of every array are of the type; arithmetic is fp32 in between. */
    enum pk_code (*scale)(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                          size_t n, struct pk_err *err);
    /* s[b,i,j] = -inf for j > i: the masked-fill pass of an eager framework, out of place. */
    enum pk_code (*causal_mask)(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                                size_t batch, size_t seq, struct pk_err *err);
    /* p = softmax over the last axis of s[rows, cols]; s may be p. */
    enum pk_code (*softmax)(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                            size_t cols, struct pk_err *err);
    /* ds = p * (dp - rowsum(dp * p)); ds may be dp. */
    enum pk_code (*softmax_backward)(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                     void *ds, size_t rows, size_t cols, struct pk_err *err);
    /* a graph compiler's schedule: scale folded, single-pass softmax, probabilities stored once */
    enum pk_code (*fused_forward)(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
    enum pk_code (*fused_backward)(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
    /* memory linear in seq: tiles of scores, recomputed in backward (Dao et al. 2022) */
    enum pk_code (*flash_forward)(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
    enum pk_code (*flash_backward)(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
    /* the vendor's fused kernels. What a shape needs is made by prepare, in seconds of the host's time: before anything is timed or
     * captured, once for both directions (asserted) */
    enum pk_code (*cudnn_prepare)(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
    enum pk_code (*cudnn_forward)(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
    enum pk_code (*cudnn_backward)(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
    /* n rectangles as one operation; wrappers and work are in ops/rects.h */
    enum pk_code (*copy2d)(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err);
    /* both or none: c->table and c->tiles of c->v and c->n > 0; all of them as one operation */
    enum pk_code (*lay_down)(struct pk_device *dev, struct pk_copies *c, struct pk_err *err);
    enum pk_code (*copies)(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err);
    enum pk_code (*fill)(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err);
    /* wrapper and work are in ops/table.h; n > 0 */
    enum pk_code (*table_patch)(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                                size_t n, struct pk_err *err);
    /* wrappers and work of the rest are in ops/layers.h, contracts in ops/layer_shapes.h */
    enum pk_code (*embed)(struct pk_device *dev, const struct pk_embed *e, struct pk_err *err);
    enum pk_code (*embed_backward)(struct pk_device *dev, const struct pk_embed_backward *e,
                                   struct pk_err *err);
    enum pk_code (*norm)(struct pk_device *dev, const struct pk_norm *n, struct pk_err *err);
    enum pk_code (*norm_backward)(struct pk_device *dev, const struct pk_norm_backward *n,
                                  struct pk_err *err);
    enum pk_code (*split_heads)(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err);
    enum pk_code (*merge_heads)(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err);
    enum pk_code (*map)(struct pk_device *dev, enum pk_map map, enum pk_dtype type, const void *a,
                        const void *b, void *y, size_t n, struct pk_err *err);
    enum pk_code (*glu)(struct pk_device *dev, const struct pk_glu *g, struct pk_err *err);
    enum pk_code (*glu_backward)(struct pk_device *dev, const struct pk_glu_backward *g, struct pk_err *err);
    enum pk_code (*cross_entropy)(struct pk_device *dev, const struct pk_cross_entropy *x,
                                  struct pk_err *err);
    enum pk_code (*log_softmax)(struct pk_device *dev, const struct pk_log_softmax *x, struct pk_err *err);
    enum pk_code (*nll)(struct pk_device *dev, const struct pk_nll *x, struct pk_err *err);
    enum pk_code (*nll_backward)(struct pk_device *dev, const struct pk_nll_backward *x, struct pk_err *err);
    enum pk_code (*mean)(struct pk_device *dev, const float *x, size_t n, float *out, struct pk_err *err);
    enum pk_code (*adamw_tick)(struct pk_device *dev, struct pk_adamw_state *state, struct pk_err *err);
    enum pk_code (*adamw)(struct pk_device *dev, const struct pk_adamw *a, struct pk_err *err);
};

/* One table per kind, each in its own file. */
extern const struct pk_ops pk_ops_cpu; /* ops/cpu/cpu_ops.c */
extern const struct pk_ops
    pk_ops_null; /* ops/null_ops.c: declared work passes as fake time, nothing is computed */
extern const struct pk_ops pk_ops_cuda; /* ops/cuda/cuda_ops.c; in builds with CUDA */

/* The table of the open device's kind. */
const struct pk_ops *pk_ops_of(const struct pk_device *dev);

enum pk_code pk_op_gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                         size_t n, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                               size_t batch, size_t seq, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                           size_t cols, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                    void *ds, size_t rows, size_t cols, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_fused_forward(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_fused_backward(struct pk_device *dev, const struct pk_attention *at,
                                  struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_flash_forward(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_flash_backward(struct pk_device *dev, const struct pk_attention *at,
                                  struct pk_err *err) PK_MUST_CHECK;
/* Only the shape is read: batch, seq, dim, causal, scale. */
enum pk_code pk_op_cudnn_prepare(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_cudnn_forward(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_cudnn_backward(struct pk_device *dev, const struct pk_attention *at,
                                  struct pk_err *err) PK_MUST_CHECK;

struct pk_work pk_work_gemm(const struct pk_gemm *g);
struct pk_work pk_work_scale(enum pk_dtype type, size_t n);
struct pk_work pk_work_causal_mask(enum pk_dtype type, size_t batch, size_t seq);
struct pk_work pk_work_softmax(enum pk_dtype type, size_t rows, size_t cols);
struct pk_work pk_work_softmax_backward(enum pk_dtype type, size_t rows, size_t cols);
/* Of the shape, type and math; arrays may be NULL. cudnn's are those of flash: side buffers are its own affair. */
struct pk_work pk_work_fused_forward(const struct pk_attention *at);
struct pk_work pk_work_fused_backward(const struct pk_attention *at);
struct pk_work pk_work_fused_softmax(const struct pk_attention *at, bool backward); /* a part of either */
struct pk_work pk_work_flash_forward(const struct pk_attention *at);
struct pk_work pk_work_flash_backward(const struct pk_attention *at);
