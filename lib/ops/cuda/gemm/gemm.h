/* Gemm by cuBLASLt: the library opened at the first product, a plan per shape, kept as long as the device is open.
 *
 * A plan's algorithm is the run's choice for the shape (device/choices.h), else the fastest of up to 8 proposals of the library's
 * heuristic, which becomes the run's choice. Each is timed once with the case's own operands when a shape occurs for the first time, but
 * not inside a capture. Memory for the timing does not come from the pool. Each product takes the workspace of ops/workspace.h from the
 * pool (PK_TAG_WORKSPACE): it is part of a case's memory and does not depend on the choice. */
#pragma once

#include "device/device.h"
#include "ops/shapes.h"

#include <cublasLt.h>

/* Row-major as in struct pk_gemm; ld: elements from a row to the next as stored; stride: elements from a problem to the next. */
struct pk_lt_gemm {
    size_t m, n, k, batch;
    enum pk_trans ta, tb;
    enum pk_dtype ab_type, c_type;
    enum pk_math math;
    float alpha, beta;
    const void *a, *b;
    void *c;
    size_t lda, ldb, ldc;
    size_t stride_a, stride_b, stride_c;
};

/* Asynchronous on PK_LANE_COMPUTE. For PK_MATH_IEEE, PK_MATH_TF32 and bf16 elements; sums are fp32, including those of partial products.
 * PK_E_UNAVAILABLE without the library and for other products, PK_E_OOM when the workspace does not fit. */
enum pk_code pk_lt_gemm(struct pk_device *dev, const struct pk_lt_gemm *g, struct pk_err *err) PK_MUST_CHECK;

/* Dense problems one after the other, from a struct pk_gemm. */
struct pk_lt_gemm pk_lt_of(const struct pk_gemm *g);

/* The key of an algorithm choice: everything but the scalars' values and the addresses. Compared as bytes. */
struct pk_lt_key {
    struct pk_lt_gemm g; /* alpha, a, b, c: zero; beta: 0 or 1 */
    uint32_t align_a, align_b, align_c;
};
void pk_lt_key_of(const struct pk_lt_gemm *g, struct pk_lt_key *key);

/* The shape for readers, then a hash of the whole key and the library's version: "gemm 130100 64x64x64 b8 NT bf16>fp32 +c 0f..". */
enum { PK_LT_KEY_TEXT = 112, PK_LT_ALGO_TEXT = 2 * sizeof(cublasLtMatmulAlgo_t) + 1 };
void pk_lt_key_text(const struct pk_lt_key *key, size_t version, char out[PK_LT_KEY_TEXT]);

/* The library's opaque bytes in hexadecimal, valid for this version only; false when the text is not of this kind. */
void pk_lt_algo_text(const cublasLtMatmulAlgo_t *algo, char out[PK_LT_ALGO_TEXT]);
bool pk_lt_algo_parse(const char *text, cublasLtMatmulAlgo_t *algo);
