/* Cpu ops: what the files of this folder share. The table itself, pk_ops_cpu, is declared in ops/ops.h. */
#pragma once

#include "device/cpu.h"
#include "ops/cpu/kernels.h"
#include "ops/ops.h"

/* What a task needs to compute on its thread. */
struct pk_cpu_run {
    const struct pk_blas *blas;
    const struct pk_kernels *kernels;
    float *scratch; /* scratch_floats for each thread */
    size_t scratch_floats;
};

/* Chooses kernels and takes scratch_floats per thread from the pool, on top of what the product itself needs;
 * freed by pk_cpu_run_end. PK_E_OOM. */
enum pk_code pk_cpu_run_begin(struct pk_device *dev, size_t scratch_floats, struct pk_cpu_run *r,
                              struct pk_err *err);
void pk_cpu_run_end(struct pk_device *dev, struct pk_cpu_run *r);

/* PK_E_UNAVAILABLE for elements that are not fp32, and for products of them that are not exact. */
enum pk_code pk_cpu_takes(const char *op, enum pk_dtype type, enum pk_math math,
                          struct pk_err *err) PK_MUST_CHECK;

/* The caller's part of this thread's scratch. */
float *pk_cpu_scratch(const struct pk_cpu_run *r, unsigned thread);

/* One product on this thread: the BLAS library, or our own. */
void pk_cpu_sgemm(const struct pk_cpu_run *r, unsigned thread, const struct pk_sgemm *g);

/* How many parts to cut each of `batch` problems into so that every thread works: 1 when there are enough,
 * and never more than `most`. */
size_t pk_cpu_parts(const struct pk_device *dev, size_t batch, size_t most);

enum pk_code pk_cpu_gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err);
enum pk_code pk_cpu_scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                          size_t n, struct pk_err *err);
enum pk_code pk_cpu_causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                                size_t batch, size_t seq, struct pk_err *err);
enum pk_code pk_cpu_softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                            size_t cols, struct pk_err *err);
enum pk_code pk_cpu_softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                     void *ds, size_t rows, size_t cols, struct pk_err *err);
enum pk_code pk_cpu_fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
enum pk_code pk_cpu_fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
enum pk_code pk_cpu_flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
enum pk_code pk_cpu_flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err);
enum pk_code pk_cpu_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err);
enum pk_code pk_cpu_fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err);
enum pk_code pk_cpu_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                                size_t n, struct pk_err *err);
