/* Cpu ops: shared by the files of this folder. The table pk_ops_cpu is declared in ops/ops.h. */
#pragma once

#include "device/cpu/cpu.h"
#include "ops/cpu/kernels.h"
#include "ops/ops.h"

/* What a task needs to compute on its thread. */
struct pk_cpu_run {
    const struct pk_blas *blas;
    const struct pk_kernels *kernels;
    float *scratch; /* scratch_floats for each thread */
    size_t scratch_floats;
};

/* Chooses kernels and allocates scratch from the pool: scratch_floats per thread, plus what the product needs; freed by pk_cpu_run_end.
 * PK_E_OOM. */
enum pk_code pk_cpu_run_begin(struct pk_device *dev, size_t scratch_floats, struct pk_cpu_run *r,
                              struct pk_err *err);
/* The bytes of the scratch, rounded as by the pool, with products by a BLAS library, which has its own memory. */
size_t pk_cpu_run_bytes(unsigned threads, size_t scratch_floats);
void pk_cpu_run_end(struct pk_device *dev, struct pk_cpu_run *r);

/* PK_E_UNAVAILABLE for fp32 elements with a math other than IEEE. */
enum pk_code pk_cpu_takes(const char *op, enum pk_dtype type, enum pk_math math,
                          struct pk_err *err) PK_MUST_CHECK;

/* The caller's part of this thread's scratch. */
float *pk_cpu_scratch(const struct pk_cpu_run *r, unsigned thread);

/* One product on this thread, by the BLAS library or perfkit's own kernel. */
void pk_cpu_sgemm(const struct pk_cpu_run *r, unsigned thread, const struct pk_sgemm *g);

/* Sets run->blas to the library for this product; multiply(job) makes the product with that run. When there are two libraries and the
 * product is large enough to time, it is the faster one: from this run's choices (device/choices.h), else by timing both with
 * multiply(job), which therefore must not add to C. */
void pk_cpu_gemm_library(struct pk_device *dev, const struct pk_gemm *g, struct pk_cpu_run *run,
                         void (*multiply)(struct pk_device *dev, const void *job), const void *job);

/* The number of parts for each of `batch` problems so that every thread has work: 1 when there are enough problems, at most `most`. */
size_t pk_cpu_parts(unsigned threads, size_t batch, size_t most);

/* A pass over rows, or over runs of elements; `row` is the index of either. */
struct pk_cpu_pass {
    const struct pk_kernels *kernels;
    const void *op; /* arguments of the op */
    void (*row)(const struct pk_cpu_pass *p, size_t row);
    size_t rows, rows_per_task;
};

/* Calls row(pass, r) for r < rows, each about `elements` long, with enough rows per task to hide the cost of starting it. */
void pk_cpu_each_row(struct pk_device *dev, const void *op, size_t rows, size_t elements,
                     void (*row)(const struct pk_cpu_pass *p, size_t row));
/* The same for n elements in runs of PK_CPU_RUN. */
enum { PK_CPU_RUN = 1 << 15 };
void pk_cpu_each_run(struct pk_device *dev, const void *op, size_t n,
                     void (*run)(const struct pk_cpu_pass *p, size_t run));
/* Elements of run `run`. */
static inline size_t pk_cpu_run_length(size_t n, size_t run)
{
    return n - run * PK_CPU_RUN < PK_CPU_RUN ? n - run * PK_CPU_RUN : PK_CPU_RUN;
}

/* key_ranges.c: divides backward of one problem among several threads.
 *
 * Keys are divided into n ranges of equal work. A range owns its rows of dk and dv; its part of dq goes to dq (range 0) or to a partial
 * copy; the copies are added to dq at the end. */
struct pk_key_ranges {
    const struct pk_attention *at;
    size_t n;
    float *partial; /* (n - 1) x [batch, seq, dim], of the pool; NULL when n is 1 */
};

/* PK_E_OOM when the pool refuses the partial copies. */
enum pk_code pk_key_ranges_init(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_attention *at,
                                struct pk_err *err);

/* Bytes of the partial copies, rounded as by the pool. */
size_t pk_key_ranges_bytes(const struct pk_attention *at, unsigned threads);

/* First key of a range; of range n: seq. */
size_t pk_key_ranges_begin(const struct pk_key_ranges *r, size_t range);

/* Where a range writes its part of a problem's dq, [seq, dim]. */
float *pk_key_ranges_dq(const struct pk_key_ranges *r, size_t problem, size_t range);

/* Adds the partial copies to dq and frees them. */
void pk_key_ranges_sum(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_kernels *k);

/* attention_bf16.c: attention over bf16 arrays by the kernels of fp32.
 *
 * For a few problems at a time, so that the workspace is bounded: q k v o d_o are widened, the op runs on them, and its results are
 * narrowed. Only probabilities stay in bf16: they are [seq, seq], and fused reads them by blocks. */
/* For fp32 arrays, except p, whose type is at->dtype. */
typedef enum pk_code pk_cpu_attention_fn(struct pk_device *dev, const struct pk_attention *at,
                                         struct pk_err *err);

/* For fp32 calls fn directly. PK_E_OOM. */
enum pk_code pk_cpu_attention_bf16(struct pk_device *dev, const struct pk_attention *at, bool backward,
                                   pk_cpu_attention_fn *fn, struct pk_err *err);
/* Bytes from the pool, including those of fn for a group of problems, bytes(). */
size_t pk_cpu_attention_bf16_bytes(const struct pk_attention *at, bool backward, unsigned threads,
                                   size_t (*bytes)(const struct pk_attention *at, unsigned threads));

/* The rows of pk_ops_cpu. */
#define PK_CPU_OP(op) __typeof__(pk_op_##op) pk_cpu_##op;
PK_ARRAY_OPS(PK_CPU_OP)
PK_ATTENTION_OPS(PK_CPU_OP)
#undef PK_CPU_OP
/* For bf16 operands (gemm_bf16.c). */
enum pk_code pk_cpu_gemm_bf16(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err);
