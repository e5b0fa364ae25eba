/* Kernels: the code of the CPU ops for one thread, compiled once per instruction set and chosen at run time.
 *
 * Pure functions of their arguments: no allocation, no threads, no errors. The caller provides scratch: 64-byte aligned, one per thread,
 * undefined between calls. Sources are in ops/cpu/isa/. */
#pragma once

#include "device/cpu/blas.h"
#include "ops/shapes.h"

#include <stddef.h>

/* One attention problem for flash; arrays are [seq, dim], lse is [seq]. */
struct pk_flash {
    size_t seq, dim;
    int causal;
    float scale;
    const float *q, *k, *v;
    float *o, *lse;
    const float *d_o;
    float *dq, *dk, *dv;
};

struct pk_kernels {
    const char *isa;

    /* y = alpha * x; x may be y */
    void (*scale)(enum pk_dtype type, float alpha, const void *x, void *y, size_t n);
    /* y[i] = e^x[i], within 2 units in the last place for -87.3 <= x <= 88; 0 below */
    void (*exp)(const float *x, float *y, size_t n);
    /* one row; s may be p */
    void (*softmax)(enum pk_dtype type, const void *s, void *p, size_t n);
    /* ds = p * (dp - sum(dp * p)), one row; ds may be dp */
    void (*softmax_backward)(enum pk_dtype type, const void *p, const void *dp, void *ds, size_t n);
    /* ds = p * (dp - delta), one row, with a given delta = sum(dp * p); ds may be dp */
    void (*softmax_backward_delta)(const float *p, const float *dp, float delta, float *ds, size_t n);
    float (*dot)(const float *a, const float *b, size_t n);
    /* y += x, which is of the type */
    void (*add)(enum pk_dtype type, const void *x, float *y, size_t n);
    void (*widen)(const uint16_t *x, float *y, size_t n);
    void (*narrow)(const float *x, uint16_t *y, size_t n);

    /* Rows of the ops in ops/shapes.h, one at a time. d_w [cols] is added to. */
    void (*norm)(const struct pk_norm *n, size_t row);
    void (*norm_backward)(const struct pk_norm_backward *n, size_t row, float *d_w);
    void (*glu)(const struct pk_glu *g, size_t row);
    void (*glu_backward)(const struct pk_glu_backward *g, size_t row);
    void (*cross_entropy)(const struct pk_cross_entropy *x, size_t row);
    void (*log_softmax)(const struct pk_log_softmax *x, size_t row);
    void (*nll_backward)(const struct pk_nll_backward *x, size_t row);
    /* n elements */
    void (*map)(enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y, size_t n);
    /* n / 2 pairs, by the row of one position in the rope table; back for sign -1; y may be x */
    void (*rotate)(enum pk_dtype type, const void *x, void *y, const float *rope_table, float sign, size_t n);
    /* values begin .. end - 1 */
    void (*adamw)(const struct pk_adamw *a, size_t begin, size_t end);

    /* The product without a BLAS library; see pk_blas_sgemm. */
    void (*sgemm)(const struct pk_sgemm *g, float *scratch);
    size_t (*sgemm_scratch_floats)(void);

    /* Queries q0 .. q0 + flash_rows - 1 (those below seq): their rows of o and lse. */
    void (*flash_forward)(const struct pk_flash *f, size_t q0, float *scratch);
    size_t (*flash_forward_scratch_floats)(size_t dim);
    /* All queries against keys k0 .. k1-1: rows k0 .. k1-1 of dk and dv, and the part of dq that comes from
     * these keys, written to f->dq. */
    void (*flash_backward)(const struct pk_flash *f, size_t k0, size_t k1, float *scratch);
    size_t (*flash_backward_scratch_floats)(size_t dim);
    size_t flash_rows;

    /* Multiply-adds in registers and L1 only, `steps` times; returns the number of floating-point operations. Scratch as for sgemm. */
    double (*peak)(size_t steps, float *scratch);
    /* z = x + y * 3; x[i] = z[i]: streams for the memory ceiling */
    void (*triad)(const float *x, const float *y, float *z, size_t n);

    void (*copy2d)(const struct pk_copy2d *c);
    /* dst[i] = pk_fill_value(seed, index + i), rounded to the type */
    void (*fill)(void *dst, size_t n, enum pk_dtype type, uint64_t seed, uint64_t index);
};

/* The table for an instruction set, or the next lower one that this build has. */
const struct pk_kernels *pk_kernels_of(enum pk_isa isa);
