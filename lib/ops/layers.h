/* Layers: what a decoder transformer does beside products and attention, on whichever device is open.
 *
 * A separate header because callers of ops.h need none of it; the rows of the vtable are there, under the same names. The shapes say
 * what each does. They are asynchronous where the device is, take workspace from the pool (PK_E_OOM), and have a pk_work_* twin: bytes
 * and exponentials. A row that is read twice counts once; so do weights, turns and tokens, however many rows they serve. */
#pragma once

#include "device/device.h"
#include "ops/layer_shapes.h"
#include "ops/work.h"

/* On the host: turns[t, i] = (cos, sin) of t * base^(-2i / dim), [seq, dim / 2, 2]; computed in float64. */
void pk_rope_turns(float *turns, size_t seq, size_t dim, double base);

enum pk_code pk_op_embed(struct pk_device *dev, const struct pk_embed *e, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_embed_backward(struct pk_device *dev, const struct pk_embed_backward *e,
                                  struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_norm(struct pk_device *dev, const struct pk_norm *n, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_norm_backward(struct pk_device *dev, const struct pk_norm_backward *n,
                                 struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_split_heads(struct pk_device *dev, const struct pk_heads *h,
                               struct pk_err *err) PK_MUST_CHECK; /* rows -> head */
enum pk_code pk_op_merge_heads(struct pk_device *dev, const struct pk_heads *h,
                               struct pk_err *err) PK_MUST_CHECK; /* head -> rows, turned back */
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
/* beta1_t *= beta1, beta2_t *= beta2: the next step has begun. */
enum pk_code pk_op_adamw_tick(struct pk_device *dev, struct pk_adamw_state *state,
                              struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_adamw(struct pk_device *dev, const struct pk_adamw *a, struct pk_err *err) PK_MUST_CHECK;

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
