/* Table: the functions of one instruction set, gathered by table.c. See ops/cpu/kernels.h for their
 * contracts. */
#pragma once

#include "ops/cpu/isa/isa.h"
#include "ops/cpu/kernels.h"

void PK_ISA(pk_scale)(enum pk_dtype type, float alpha, const void *x, void *y, size_t n);
void PK_ISA(pk_add)(enum pk_dtype type, const void *x, float *y, size_t n);
void PK_ISA(pk_widen)(const uint16_t *x, float *y, size_t n);
void PK_ISA(pk_narrow)(const float *x, uint16_t *y, size_t n);
void PK_ISA(pk_triad)(const float *x, const float *y, float *z, size_t n);
void PK_ISA(pk_exp)(const float *x, float *y, size_t n);
void PK_ISA(pk_softmax)(enum pk_dtype type, const void *s, void *p, size_t n);
void PK_ISA(pk_softmax_backward)(enum pk_dtype type, const void *p, const void *dp, void *ds, size_t n);
void PK_ISA(pk_softmax_backward_delta)(const float *p, const float *dp, float delta, float *ds, size_t n);
void PK_ISA(pk_cross_entropy)(const struct pk_cross_entropy *x, size_t row);
void PK_ISA(pk_log_softmax)(const struct pk_log_softmax *x, size_t row);
void PK_ISA(pk_nll_backward)(const struct pk_nll_backward *x, size_t row);
float PK_ISA(pk_dot)(const float *a, const float *b, size_t n);

void PK_ISA(pk_map)(enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y, size_t n);
void PK_ISA(pk_glu)(const struct pk_glu *g, size_t row);
void PK_ISA(pk_glu_backward)(const struct pk_glu_backward *g, size_t row);
void PK_ISA(pk_rotate)(enum pk_dtype type, const void *x, void *y, const float *rope_table, float sign,
                       size_t n);
void PK_ISA(pk_norm)(const struct pk_norm *n, size_t row);
void PK_ISA(pk_norm_backward)(const struct pk_norm_backward *n, size_t row, float *d_w);
void PK_ISA(pk_adamw)(const struct pk_adamw *a, size_t begin, size_t end);

void PK_ISA(pk_copy2d)(const struct pk_copy2d *c);
void PK_ISA(pk_fill)(void *dst, size_t n, enum pk_dtype type, uint64_t seed, uint64_t index);

void PK_ISA(pk_sgemm)(const struct pk_sgemm *g, float *scratch);
size_t PK_ISA(pk_sgemm_scratch_floats)(void);
double PK_ISA(pk_peak)(size_t steps, float *scratch);

enum { PK_FLASH_ROWS = 192 }; /* queries per call: a whole number of vectors in every instruction set */
void PK_ISA(pk_flash_forward)(const struct pk_flash *f, size_t q0, float *scratch);
size_t PK_ISA(pk_flash_forward_scratch_floats)(size_t dim);
void PK_ISA(pk_flash_backward)(const struct pk_flash *f, size_t k0, size_t k1, float *scratch);
size_t PK_ISA(pk_flash_backward_scratch_floats)(size_t dim);

extern const struct pk_kernels PK_ISA(pk_kernels);
