/* Shapes: the arguments of the operations (ops.h), in structs for C and CUDA C++.
 *
 * Arrays are dense and row-major unless they have a stride, in elements. `dtype` is the type of every array declared void. Sums of
 * layers are always fp32, in an order that depends only on shapes: results are reproducible. */
#pragma once

#include "ops/dtype.h"

#include <stddef.h>
#include <stdint.h>

enum pk_trans { PK_N, PK_T };

/* C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, `batch` times. op(A) is A or its transpose; A is stored [m,k] for PK_N and [k,m]
 * for PK_T; likewise B. A and B have the same type; C has that type or fp32. */
struct pk_gemm {
    size_t m, n, k, batch;
    enum pk_trans ta, tb;
    float alpha, beta;
    const void *a, *b;
    void *c;
    enum pk_dtype ab_type, c_type;
    enum pk_math math; /* of fp32 operands */
    int of_attention; /* of scores or probabilities: a trace shows these separately from products of weights */
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

/* What the fp16x3 kernels make of q, k and v: tiles of 64 rows, features padded to 64 or 128, of two fp16 numbers each, with a factor for
 * each row, of values for each feature; the tiles of queries are even in number. */
static inline size_t pk_fp16x3_bytes(const struct pk_attention *at)
{
    const size_t rows = 64, wide = at->dim <= 64 ? 64 : 128, seen = (at->seq + rows - 1) / rows,
                 own = (seen + 1) / 2 * 2;
    const size_t numbers = rows * wide * 2 * sizeof(uint16_t);
    return at->batch *
           ((own + seen) * (numbers + rows * sizeof(float)) + seen * (numbers + wide * sizeof(float)));
}

/* The keys or queries of a block of flash attention, divided into n parts of `rows` rows for n blocks; the last part may be smaller.
 * `rows` is a multiple of PK_FLASH_PART_STEP, or n is 1. five: the backward pass on a GPU makes scores once and adds dQ up with atomics,
 * five products instead of seven; for PK_FLASH_FIVE_MIN to PK_FLASH_FIVE_MAX features. */
enum { PK_FLASH_PART_STEP = 64, PK_FLASH_FIVE_MIN = 33, PK_FLASH_FIVE_MAX = 128 };
struct pk_flash_parts {
    size_t n, rows;
    int five;
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

/* dst[r, c] = uniform in [-1, 1) from a hash of (seed, r * columns + c), for r < rows, c < cols; dst is dense [rows, cols], a part of an
 * array with `columns` columns. pk_fill_value is the definition; results are bitwise equal on every device. */
struct pk_fill {
    void *dst;
    size_t rows, cols, columns;
    uint64_t seed;
    enum pk_dtype dtype; /* bf16: the value rounded to it */
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

/* out[r] = table[tokens[r]];  backward: d_table[t] = sum of d_out[r] over the rows with token t, 0 for tokens that do not occur. */
struct pk_embed {
    size_t rows, cols, vocab;
    enum pk_dtype dtype;
    const int32_t *tokens; /* [rows], each in [0, vocab) */
    const void *table;     /* [vocab, cols] */
    void *out;             /* [rows, cols] */
};
struct pk_embed_backward {
    size_t rows, cols, vocab;
    enum pk_dtype dtype;
    const int32_t *tokens;
    const void *d_out; /* [rows, cols] */
    float *d_table;    /* [vocab, cols], overwritten, or with `add` added to */
    int add;
};

/* Root mean square norm (Zhang and Sennrich 2019), with the residual sum before it when there is a delta:
 *   s = x + delta;   rstd = 1 / sqrt(mean(s^2) + eps);   y = s * rstd * w
 *   backward: d_x = rstd * (d_y * w - n * mean(d_y * w * n)) [+ d_s], with n = s * rstd;   d_w = column sums of d_y * n */
struct pk_norm {
    size_t rows, cols;
    float eps;
    enum pk_dtype dtype;
    const void *x, *delta; /* [rows, cols]; delta NULL: s is x, and nothing is stored in sum */
    void *sum;             /* s; may be x or delta; NULL without delta */
    const float *w;        /* [cols] */
    void *y;               /* [rows, cols]; none of the others */
    float *rstd;           /* [rows]; may be NULL */
};
struct pk_norm_backward {
    size_t rows, cols;
    enum pk_dtype dtype;
    const void *s;  /* input of the norm */
    const float *w; /* [cols] */
    const float *rstd;
    const void *d_y, *d_s; /* d_s: gradient of s from the path around the norm, added; may be NULL */
    void *d_x;             /* may be d_y or d_s */
    float *d_w;            /* [cols], overwritten, or with `add` added to */
    int add;
};

/* Between rows of tokens and heads: head[p][b, h, t, :] = R_t rows[b, t, (p * heads + h) * dim + :], and back with R_t transposed, for p
 * < parts. With repeat > 1 (grouped queries, Ainslie et al. 2023) a head of the rows is `repeat` adjacent ones of head[p], all equal, and
 * the way back adds them up in fp32. R_t rotates pairs (2i, 2i+1) of part p by the angle of position t (Su et al. 2021) when bit p of `rotated` is set, else it is
 * the identity. With one head and one part both layouts are equal, and this is only a rotation. */
struct pk_heads {
    size_t batch, seq, heads, dim; /* heads: of the rows; dim is even if a part is rotated */
    unsigned parts;                /* 1 to 3: q; k, v; q, k, v */
    unsigned rotated;              /* bits */
    enum pk_dtype dtype;
    const float *
        rope_table; /* [seq, dim / 2, 2]: cosine and sine, from pk_rope_table; NULL when nothing is rotated */
    void *rows;     /* [batch, seq, parts * heads * dim] */
    void *head[3];  /* [batch * heads * repeat, seq, dim] each */
    size_t stride;  /* elements from a row to the next; 0 = parts * heads * dim */
    size_t repeat;  /* 0 = 1 */
};
PK_EVERYWHERE static inline size_t pk_heads_stride(const struct pk_heads *h)
{
    return h->stride ? h->stride : h->parts * h->heads * h->dim;
}
PK_EVERYWHERE static inline size_t pk_heads_repeat(const struct pk_heads *h)
{
    return h->repeat ? h->repeat : 1;
}

/* Elementwise, n elements; y may be a or b. */
enum pk_map {
    PK_MAP_ADD,           /* y = a + b */
    PK_MAP_MUL,           /* y = a * b */
    PK_MAP_SILU,          /* y = a * sigmoid(a); b is not read */
    PK_MAP_SILU_BACKWARD, /* y = b * silu'(a) */
    PK_MAPS
};

/* The gated unit (Shazeer 2020) in one pass: y = silu(gate) * up.
 *   backward: d_gate = d_y * up * silu'(gate);  d_up = d_y * silu(gate);  optionally y again */
struct pk_glu {
    size_t rows, cols, stride; /* rows of gate and up are stride >= cols apart; of y, cols */
    enum pk_dtype dtype;
    const void *gate, *up;
    void *y;
};
struct pk_glu_backward {
    size_t rows, cols, stride; /* of gate, up, d_gate and d_up; of y and d_y, cols */
    enum pk_dtype dtype;
    const void *gate, *up, *d_y;
    void *d_gate, *d_up; /* may be gate and up */
    void *y;             /* may be d_y; may be NULL */
};

/* Cross-entropy of logits [rows, cols], rows `stride` apart, against one target each:
 *   loss[r] = log(sum(exp(logits[r]))) - logits[r, target[r]];   d_logits = (softmax - one_hot(target)) * scale
 * As one op it reads the logits and stores no probabilities. Frameworks use separate steps: log_softmax (kept as fp32), the selection of
 * the targets' entries, and a gradient from the kept values. */
struct pk_cross_entropy {
    size_t rows, cols, stride;
    enum pk_dtype dtype;
    const void *logits;
    const int32_t *targets; /* [rows], each in [0, cols) */
    float *losses;          /* [rows] */
    float scale;            /* of the gradient: 1 / rows for the mean */
    void *d_logits;         /* rows stride apart, 0 beyond cols; may be logits; NULL = forward only */
};
struct pk_log_softmax {
    size_t rows, cols;
    enum pk_dtype dtype;
    const void *logits;
    float *logp; /* [rows, cols] */
};
struct pk_nll {
    size_t rows, cols;
    const float *logp;
    const int32_t *targets;
    float *losses; /* [rows] */
};
struct pk_nll_backward { /* through nll and log_softmax */
    size_t rows, cols;
    enum pk_dtype dtype;
    const float *logp;
    const int32_t *targets;
    float scale;
    void *d_logits; /* [rows, cols] */
};

/* AdamW (Loshchilov and Hutter 2019). Values that change from step to step are in device memory, so that a captured step can be
 * replayed. */
struct pk_adamw_state {
    float lr, beta1, beta2, eps, decay;
    float beta1_t, beta2_t; /* beta^t: 1 before the first tick */
};
/* The passes of one step over n values, in this order. Passes that are requested together are one pass over memory. */
enum pk_adamw_pass {
    PK_ADAMW_DECAY = 1,   /* p *= 1 - lr * decay */
    PK_ADAMW_FIRST = 2,   /* m += (1 - beta1) * (g - m) */
    PK_ADAMW_SECOND = 4,  /* v += (1 - beta2) * (g * g - v) */
    PK_ADAMW_DENOM = 8,   /* d = sqrt(v / (1 - beta2_t)) + eps, to scratch unless combined with update */
    PK_ADAMW_UPDATE = 16, /* p -= lr / (1 - beta1_t) * m / d, from scratch unless combined with denom */
    PK_ADAMW_NARROW = 32, /* narrow = bf16 of p */
    PK_ADAMW_FUSED = 31,  /* all but narrow */
};
struct pk_adamw {
    size_t n;
    unsigned passes;
    const struct pk_adamw_state *state; /* device memory; may be NULL for narrow alone */
    float *p, *m, *v;
    const void *g;
    enum pk_dtype g_type;
    float *scratch;   /* [n]; NULL if not needed */
    uint16_t *narrow; /* [n]; NULL without that pass */
};
