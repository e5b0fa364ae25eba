/* Shapes: what an operation is asked to do, in structs that C and CUDA C++ both read. ops.h and rects.h have the operations. */
#pragma once

#include "ops/dtype.h"

#include <stddef.h>
#include <stdint.h>

enum pk_trans { PK_N, PK_T };

/* C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, `batch` times. op(A) is A or its transpose; A is stored [m,k] for
 * PK_N and [k,m] for PK_T; likewise B. A and B are of one type; C is of theirs, or fp32 whatever they are. */
struct pk_gemm {
    size_t m, n, k, batch;
    enum pk_trans ta, tb;
    float alpha, beta;
    const void *a, *b;
    void *c;
    enum pk_dtype ab_type, c_type;
    enum pk_math math; /* of fp32 operands */
    int of_attention;  /* of scores or probabilities: a trace tells these from products of weights */
};

/* Scaled dot-product attention, `batch` = batch * heads independent problems of [seq, dim].
 *   O = softmax(scale * Q K^T [+ causal mask]) V          scale = 1/sqrt(dim) unless given
 * Forward reads q k v and writes o; what it saves for backward depends on the variant:
 *   fused: p [batch, seq, seq], the probabilities;   flash, cudnn: lse [batch, seq], log-sum-exp of each score row.
 * Backward reads those and d_o, and writes dq dk dv (overwritten, not accumulated). */
struct pk_attention {
    size_t batch, seq, dim;
    int causal;
    float scale;
    enum pk_dtype dtype; /* of every array but lse */
    enum pk_math math;   /* of fp32 arrays' products */
    const void *q, *k, *v;
    void *o;
    void *p;    /* fused only */
    float *lse; /* flash, cudnn */
    const void *d_o;
    void *dq, *dk, *dv;
};

/* rows x row_bytes from src (a row every src_stride bytes) to dst (a row every dst_stride bytes). They do not overlap. */
struct pk_copy2d {
    const void *src;
    void *dst;
    size_t rows, row_bytes, src_stride, dst_stride;
};

/* table[index] = value. */
struct pk_table_patch {
    uint64_t index, value;
};

/* dst[r, c] = uniform in [-1, 1) from a hash of (seed, r * columns + c), for r < rows, c < cols; dst is dense [rows, cols], a part of
 * an array with `columns` columns. pk_fill_value is the definition; every device gives its bits. */
struct pk_fill {
    float *dst;
    size_t rows, cols, columns;
    uint64_t seed;
};

/* The top 24 bits of splitmix64's finaliser over seed * 0x9E3779B97F4A7C15 + index, exactly representable. */
PK_EVERYWHERE static inline float pk_fill_value(uint64_t seed, uint64_t index)
{
    uint64_t x = seed * 0x9E3779B97F4A7C15u + index;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (float)(int32_t)(x >> 40) * 0x1p-23f - 1.0f;
}
