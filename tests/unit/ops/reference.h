/* Reference: the mathematics of ops/ops.h in plain fp64, written to be read and never to be fast. What the tests of every
 * kernel compare with, whole arrays at small shapes; ops/attention_check.h is what a run checks itself with, by rows and columns.
 * Shapes and order of arrays as in ops/ops.h. */
#pragma once

#include "ops/shapes.h"

#ifdef __cplusplus
extern "C" { /* tests/cudashim */
#endif

/* Largest |got - want| over |want| plus the root mean square of want; infinite when something is not a number. */
double pk_reference_error(const float *got, const double *want, size_t n);

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

/* Layers (reference_layers.c): what the structs point at is fp32 whatever their types say, is read and never written; results go where
 * the other arguments say, each of which may be NULL. */
void pk_reference_embed_backward(const struct pk_embed_backward *e, double *d_table);
void pk_reference_norm(const struct pk_norm *n, double *sum, double *y, double *rstd);
/* Of n->s: rstd is not read. */
void pk_reference_norm_backward(const struct pk_norm_backward *n, float eps, double *d_x, double *d_w);
void pk_reference_split_heads(const struct pk_heads *h, double *const head[3]);
void pk_reference_merge_heads(const struct pk_heads *h, double *rows);
double pk_reference_map(enum pk_map map, double a, double b);
/* loss [rows], logp [rows, cols], d_logits [rows, cols]: those of the struct's rows, without what lies between them */
void pk_reference_cross_entropy(const struct pk_cross_entropy *x, double *loss, double *logp,
                                double *d_logits);
/* One value: all passes of one step. */
struct pk_reference_adamw {
    double p, m, v;
};
void pk_reference_adamw(const struct pk_adamw_state *s, double g, struct pk_reference_adamw *x);

#ifdef __cplusplus
}
#endif
