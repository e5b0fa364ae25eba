/* Gemm by cuBLASLt: the library opened at the first product, a plan per shape, kept as long as the device is open.
 *
 * A plan's algorithm is the fastest of up to 8 that the library's heuristic proposes, each timed once with the case's own operands the
 * first time that a shape occurs: not inside a capture. What the timing needs is taken beside the pool; what the algorithm chosen
 * needs is taken from the pool for each product (PK_TAG_WORKSPACE), so that a case's memory shows it. */
#pragma once

#include "device/device.h"
#include "ops/shapes.h"

/* How products of fp32 arrays are made. Sums are fp32 in each. */
enum pk_lt_math { PK_LT_IEEE, PK_LT_TF32 };

/* Row-major as in struct pk_gemm; ld: floats from a row to the next as stored; stride: floats from a problem to the next. */
struct pk_lt_gemm {
    size_t m, n, k, batch;
    enum pk_trans ta, tb;
    enum pk_lt_math math;
    float alpha, beta;
    const float *a, *b;
    float *c;
    size_t lda, ldb, ldc;
    size_t stride_a, stride_b, stride_c;
};

/* Asynchronous on PK_LANE_COMPUTE. PK_E_UNAVAILABLE without the library, PK_E_OOM without room for the workspace. */
enum pk_code pk_lt_gemm(struct pk_device *dev, const struct pk_lt_gemm *g, struct pk_err *err) PK_MUST_CHECK;

/* Dense problems one after the other: what struct pk_gemm says. */
struct pk_lt_gemm pk_lt_of(const struct pk_gemm *g);
