/* Sdpa: scaled dot-product attention by cuDNN, forward and backward: bf16 in memory, fp32 scores, statistics and sums.
 *
 *   O = softmax(scale * Q K^T [+ causal mask]) V       `batch` independent problems of [seq, dim], dense, one after the other
 *
 * A plan per shape and direction is kept as long as the device is open. Making one compiles a kernel, 0.3 to 0.7 s: pk_cudnn_prepare
 * does this at setup, pk_cudnn_run never, so that it does not happen in a timed region or a capture. Both directions allocate workspace
 * from the device's pool, backward also its two side buffers (PK_TAG_WORKSPACE, freed before it returns). */
#pragma once

#include "device/device.h"

struct pk_cudnn_shape {
    size_t batch, seq, dim;
    bool causal, backward;
    float scale;
};

/* Arrays and numbers of both graphs; bf16 [batch, seq, dim] unless stated. */
enum pk_cudnn_id {
    PK_CUDNN_Q = 1,
    PK_CUDNN_K,
    PK_CUDNN_V,
    PK_CUDNN_O,
    PK_CUDNN_LSE, /* fp32 [batch, seq]: log-sum-exp of each row of scores; forward writes, backward reads it */
    PK_CUDNN_D_O,
    PK_CUDNN_DQ,
    PK_CUDNN_DK,
    PK_CUDNN_DV,
    PK_CUDNN_ARRAYS,                  /* the following ones are internal */
    PK_CUDNN_DELTA = PK_CUDNN_ARRAYS, /* fp32 [batch, seq]: side buffer of backward, rowsum(d_o * o) */
    PK_CUDNN_DQ_SUM,                  /* fp32 [batch, seq, dim]: side buffer of backward */
    PK_CUDNN_SCALE,                   /* numbers */
    PK_CUDNN_MINUS_INFINITY,          /* causal only */
    PK_CUDNN_ONE,                     /* backward only */
    PK_CUDNN_IDS
};

/* PK_E_UNAVAILABLE: no library, or none of its engines supports this shape. Does nothing when it was prepared before. */
enum pk_code pk_cudnn_prepare(struct pk_device *dev, const struct pk_cudnn_shape *s,
                              struct pk_err *err) PK_MUST_CHECK;

/* Asynchronous on PK_LANE_COMPUTE, after pk_cudnn_prepare for the same shape (asserted). `arrays` is indexed by pk_cudnn_id, with those
 * that the direction needs, 16-byte aligned. PK_E_OOM when side buffers or workspace do not fit. */
enum pk_code pk_cudnn_run(struct pk_device *dev, const struct pk_cudnn_shape *s,
                          void *const arrays[PK_CUDNN_ARRAYS], struct pk_err *err) PK_MUST_CHECK;

/* sdpa_graph.c: adds one direction as a graph that cuDNN's fused engines recognise, between pk_cudnn_graph_begin and
 * pk_cudnn_graph_finish. The engines match patterns, which determine the order of operations, their types and the stored results. */
struct pk_cudnn_graph;
void pk_cudnn_sdpa_graph(struct pk_cudnn_graph *g, const struct pk_cudnn_shape *s);
