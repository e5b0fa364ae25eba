/* Ops: the mathematical operations of the experiments, on the open device.
 *
 * Arrays are row-major, fp32 unless a type is given, 64-byte aligned at their start (as the pool's memory is). `batch` problems are
 * stored one after the other. For every op a function pk_work_* computes FLOPs and bytes from the same shapes. Ops run on
 * PK_LANE_COMPUTE and may be asynchronous; they allocate workspace from the device's pool and return PK_E_OOM when it refuses. Tests
 * compare with tests/unit/ops/reference.h.
 *
 * Each device kind fills one struct pk_ops (ops/cpu/cpu_ops.c, ops/null_ops.c, ops/cuda/...); callers use the pk_op_* wrappers. A NULL
 * row means "not on this device" and gives PK_E_UNAVAILABLE; so does an op with a type or math that the device does not have. The error
 * names it; an op never falls back to another type or math. */
#pragma once

#include "device/device.h"
#include "ops/shapes.h"

#include <stdint.h>

/* The declared work of an operation: computed, never measured.
 *
 * flops: floating-point additions and multiplications of products (a fused multiply-add is two); without exponentials. What passes over
 *        arrays compute between reading and writing is not counted: memory limits them.
 * bytes: what the kernels read and write as their algorithm states it, every pass counted (read 4 + write 4 for
 *        an in-place fp32 pass); what stays in a cache is counted all the same, and tables flag such cases.
 * The harness derives rates and % of floor from it; nobody else does. */
struct pk_work {
    double flops;
    double tensor_flops; /* the part of flops in bf16 or tf32 on tensor cores, which have no % of floor */
    double bytes;
    double exps;     /* exponentials and other transcendental calls */
    double messages; /* collective operations started */
    double effort;   /* minimal number of repetitions, 0 = 1: for predicted times, not for the floor */
};

static inline struct pk_work pk_work_add(struct pk_work a, struct pk_work b)
{
    return (struct pk_work){a.flops + b.flops, a.tensor_flops + b.tensor_flops, a.bytes + b.bytes,
                            a.exps + b.exps, a.messages + b.messages};
}

/* Copies that are repeated: on a GPU a single launch for all of them, which reads the list from device memory. */
struct pk_copies {
    const struct pk_copy2d *v; /* the caller's */
    size_t n;
    void *table; /* device memory, PK_TAG_WORKSPACE; NULL on a device that needs none */
    size_t tiles;
};

enum pk_code pk_op_gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err) PK_MUST_CHECK;
/* y = alpha * x, n elements; x may be y. All arrays have the type; arithmetic is fp32. */
enum pk_code pk_op_scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                         size_t n, struct pk_err *err) PK_MUST_CHECK;
/* s[b,i,j] = -inf for j > i: the masked-fill pass of an eager framework, out of place. */
enum pk_code pk_op_causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                               size_t batch, size_t seq, struct pk_err *err) PK_MUST_CHECK;
/* p = softmax over the last axis of s[rows, cols]; s may be p. */
enum pk_code pk_op_softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                           size_t cols, struct pk_err *err) PK_MUST_CHECK;
/* ds = p * (dp - rowsum(dp * p)); ds may be dp. */
enum pk_code pk_op_softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                    void *ds, size_t rows, size_t cols, struct pk_err *err) PK_MUST_CHECK;
/* Attention as a graph compiler schedules it: scale folded, single-pass softmax, probabilities stored once. */
enum pk_code pk_op_fused_forward(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_fused_backward(struct pk_device *dev, const struct pk_attention *at,
                                  struct pk_err *err) PK_MUST_CHECK;
/* Attention with memory linear in seq: tiles of scores, recomputed in backward (Dao et al. 2022). */
enum pk_code pk_op_flash_forward(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_flash_backward(struct pk_device *dev, const struct pk_attention *at,
                                  struct pk_err *err) PK_MUST_CHECK;
/* The vendor's fused kernels. prepare takes seconds of host time; it is called once per shape for both directions (asserted), before
 * timing and capture. It reads only the shape: batch, seq, dim, causal, scale. */
enum pk_code pk_op_cudnn_prepare(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_cudnn_forward(struct pk_device *dev, const struct pk_attention *at,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_cudnn_backward(struct pk_device *dev, const struct pk_attention *at,
                                  struct pk_err *err) PK_MUST_CHECK;

/* One operation for all n rectangles: the bytes, not the rectangles, are divided among threads or blocks. On a GPU the rectangles are
 * launch arguments, some dozens per launch, so that nothing is uploaded and the op can be captured. */
enum pk_code pk_op_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n,
                          struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_fill(struct pk_device *dev, const struct pk_fill *v, size_t n,
                        struct pk_err *err) PK_MUST_CHECK;

/* At setup: waits for the device. PK_E_OOM. */
enum pk_code pk_copies_make(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_copies *out,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_copies_free(struct pk_device *dev, struct pk_copies *c);
enum pk_code pk_op_copies(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err) PK_MUST_CHECK;
/* table[v[i].index] = v[i].value for i < n; both arrays are device memory; no two patches have the same index. One launch on a GPU. */
enum pk_code pk_op_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                               size_t n, struct pk_err *err) PK_MUST_CHECK;

/* On the host: rope_table[t, i] = (cos, sin) of t * base^(-2i / dim), [seq, dim / 2, 2]; computed in float64. */
void pk_rope_table(float *rope_table, size_t seq, size_t dim, double base);

/* Layers of a decoder transformer. They allocate workspace from the pool (PK_E_OOM). In their declared work a row that is read twice
 * counts once; weights, the rope table and tokens count once for all rows. */
enum pk_code pk_op_embed(struct pk_device *dev, const struct pk_embed *e, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_embed_backward(struct pk_device *dev, const struct pk_embed_backward *e,
                                  struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_norm(struct pk_device *dev, const struct pk_norm *n, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_norm_backward(struct pk_device *dev, const struct pk_norm_backward *n,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_split_heads(struct pk_device *dev, const struct pk_heads *h,
                               struct pk_err *err) PK_MUST_CHECK; /* rows -> head */
enum pk_code pk_op_merge_heads(struct pk_device *dev, const struct pk_heads *h,
                               struct pk_err *err) PK_MUST_CHECK; /* head -> rows, rotated back */
enum pk_code pk_op_map(struct pk_device *dev, enum pk_map map, enum pk_dtype type, const void *a,
                       const void *b, void *y, size_t n, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_glu(struct pk_device *dev, const struct pk_glu *g, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_glu_backward(struct pk_device *dev, const struct pk_glu_backward *g,
                                struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_cross_entropy(struct pk_device *dev, const struct pk_cross_entropy *x,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_log_softmax(struct pk_device *dev, const struct pk_log_softmax *x,
                               struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_nll(struct pk_device *dev, const struct pk_nll *x, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_nll_backward(struct pk_device *dev, const struct pk_nll_backward *x,
                                struct pk_err *err) PK_MUST_CHECK;
/* out[0] = mean of x[n]. */
enum pk_code pk_op_mean(struct pk_device *dev, const float *x, size_t n, float *out,
                        struct pk_err *err) PK_MUST_CHECK;
/* Begins the next step: beta1_t *= beta1, beta2_t *= beta2. */
enum pk_code pk_op_adamw_tick(struct pk_device *dev, struct pk_adamw_state *state,
                              struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_adamw(struct pk_device *dev, const struct pk_adamw *a, struct pk_err *err) PK_MUST_CHECK;

/* X(op): the operations of every device, those of attention, and those that only a GPU has. */
// clang-format off
#define PK_ARRAY_OPS(X)                                                                                      \
    X(gemm) X(scale) X(causal_mask) X(softmax) X(softmax_backward) X(map) X(mean) X(copy2d) X(fill) X(table_patch)\
    X(embed) X(embed_backward) X(norm) X(norm_backward) X(split_heads) X(merge_heads) X(glu) X(glu_backward) \
    X(cross_entropy) X(log_softmax) X(nll) X(nll_backward) X(adamw_tick) X(adamw)
// clang-format on
#define PK_ATTENTION_OPS(X) X(fused_forward) X(fused_backward) X(flash_forward) X(flash_backward)
#define PK_CUDNN_OPS(X)     X(cudnn_prepare) X(cudnn_forward) X(cudnn_backward)

/* A row has the type and the contract of its pk_op_* function. */
#define PK_OPS_ROW(op) __typeof__(&pk_op_##op) op;
struct pk_ops {
    PK_ARRAY_OPS(PK_OPS_ROW)
    PK_ATTENTION_OPS(PK_OPS_ROW)
    PK_CUDNN_OPS(PK_OPS_ROW)
    /* both or none: lay_down makes c->table and c->tiles from c->v and c->n > 0; copies does all copies as one operation */
    enum pk_code (*lay_down)(struct pk_device *dev, struct pk_copies *c, struct pk_err *err);
    enum pk_code (*copies)(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err);
};
#undef PK_OPS_ROW

/* One table per kind, each in its own file. */
extern const struct pk_ops pk_ops_cpu; /* ops/cpu/cpu_ops.c */
extern const struct pk_ops
    pk_ops_null; /* ops/null_ops.c: declared work passes as fake time, nothing is computed */
extern const struct pk_ops pk_ops_cuda; /* ops/cuda/cuda_ops.c; in builds with CUDA */

/* The table of the open device's kind. */
const struct pk_ops *pk_ops_of(const struct pk_device *dev);

struct pk_work pk_work_gemm(const struct pk_gemm *g);
struct pk_work pk_work_scale(enum pk_dtype type, size_t n);
struct pk_work pk_work_causal_mask(enum pk_dtype type, size_t batch, size_t seq);
struct pk_work pk_work_softmax(enum pk_dtype type, size_t rows, size_t cols);
struct pk_work pk_work_softmax_backward(enum pk_dtype type, size_t rows, size_t cols);
/* From the shape, type and math; arrays may be NULL. cudnn's work is that of flash, without its side buffers. */
struct pk_work pk_work_fused_forward(const struct pk_attention *at);
struct pk_work pk_work_fused_backward(const struct pk_attention *at);
struct pk_work pk_work_fused_softmax(const struct pk_attention *at, bool backward); /* a part of either */
struct pk_work pk_work_flash_forward(const struct pk_attention *at);
struct pk_work pk_work_flash_backward(const struct pk_attention *at);
struct pk_work pk_work_copy2d(const struct pk_copy2d *v, size_t n); /* read + written */
struct pk_work pk_work_fill(const struct pk_fill *v, size_t n);     /* written */
struct pk_work pk_work_table_patch(size_t n);                       /* patches read, entries written */
struct pk_work pk_work_embed(const struct pk_embed *e);
struct pk_work pk_work_embed_backward(const struct pk_embed_backward *e);
struct pk_work pk_work_norm(const struct pk_norm *n);
struct pk_work pk_work_norm_backward(const struct pk_norm_backward *n);
struct pk_work pk_work_heads(const struct pk_heads *h); /* either way */
struct pk_work pk_work_map(enum pk_map map, enum pk_dtype type, size_t n);
struct pk_work pk_work_glu(const struct pk_glu *g);
struct pk_work pk_work_glu_backward(const struct pk_glu_backward *g);
struct pk_work pk_work_cross_entropy(const struct pk_cross_entropy *x);
struct pk_work pk_work_log_softmax(const struct pk_log_softmax *x);
struct pk_work pk_work_nll(const struct pk_nll *x);
struct pk_work pk_work_nll_backward(const struct pk_nll_backward *x);
struct pk_work pk_work_mean(size_t n);
struct pk_work pk_work_adamw_tick(void);
struct pk_work pk_work_adamw(const struct pk_adamw *a);
