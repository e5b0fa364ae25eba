/* Reference: the mathematics of ops/ops.h in plain fp64, written to be read and never to be fast. What the tests of every
 * kernel compare with, whole arrays at small shapes; ops/attention_check.h is what a run checks itself with, by rows and columns.
 * Shapes and order of arrays as in ops/ops.h. */
#pragma once

#include "ops/shapes.h"

#ifdef __cplusplus
extern "C" { /* tests/cudashim */
#endif

/* c[batch, m, n]; arrays are fp32 whatever their types say; g->c is read when beta is not 0 and not written. */
void pk_reference_gemm(const struct pk_gemm *g, double *c);

/* p[rows, cols] of s[rows, cols] */
void pk_reference_softmax(const double *s, double *p, size_t rows, size_t cols);

/* Any result may be NULL. p [batch, seq, seq] is also workspace for the others: pass it. */
struct pk_reference_attention {
    double *p;            /* [batch, seq, seq], required */
    double *o;            /* [batch, seq, dim] */
    double *lse;          /* [batch, seq] */
    double *dq, *dk, *dv; /* [batch, seq, dim], all or none */
};
/* Reads q k v, and d_o when gradients are asked for: fp32 whatever the type says. */
void pk_reference_attention(const struct pk_attention *at, const struct pk_reference_attention *r);

#ifdef __cplusplus
}
#endif
