/* Cpu ops: what the files of this folder share. The table itself, pk_ops_cpu, is declared in ops/ops.h. */
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

/* Chooses kernels and takes scratch_floats per thread from the pool, on top of what the product itself needs;
 * freed by pk_cpu_run_end. PK_E_OOM. */
enum pk_code pk_cpu_run_begin(struct pk_device *dev, size_t scratch_floats, struct pk_cpu_run *r,
                              struct pk_err *err);
/* Bytes of that, in the pool's rounding, without a product of our own: a BLAS library has its own memory. */
size_t pk_cpu_run_bytes(unsigned threads, size_t scratch_floats);
void pk_cpu_run_end(struct pk_device *dev, struct pk_cpu_run *r);

/* PK_E_UNAVAILABLE for products of fp32 elements that are not exact. */
enum pk_code pk_cpu_takes(const char *op, enum pk_dtype type, enum pk_math math,
                          struct pk_err *err) PK_MUST_CHECK;

/* The caller's part of this thread's scratch. */
float *pk_cpu_scratch(const struct pk_cpu_run *r, unsigned thread);

/* One product on this thread: the BLAS library, or our own. */
void pk_cpu_sgemm(const struct pk_cpu_run *r, unsigned thread, const struct pk_sgemm *g);

/* Which library makes this product: run->blas, put there for `multiply(job)`, whose run it is, and for what the caller does after it. Where
 * there are two and the product is large enough to tell them apart, the faster: as this run chose (device/choices.h), else by trying both
 * with the product itself, which therefore must not add to C. */
void pk_cpu_gemm_library(struct pk_device *dev, const struct pk_gemm *g, struct pk_cpu_run *run,
                         void (*multiply)(struct pk_device *dev, const void *job), const void *job);

/* How many parts to cut each of `batch` problems into so that every thread works: 1 when there are enough,
 * and never more than `most`. */
size_t pk_cpu_parts(unsigned threads, size_t batch, size_t most);

/* What a pass over rows, or over runs of elements, works on; `row` counts either. */
struct pk_cpu_pass {
    const struct pk_kernels *kernels;
    const void *op; /* what was asked for */
    void (*row)(const struct pk_cpu_pass *p, size_t row);
    size_t rows, rows_per_task;
};

/* row(op, r) for r < rows, each about `elements` long: as many to a task as hide its start. */
void pk_cpu_each_row(struct pk_device *dev, const void *op, size_t rows, size_t elements,
                     void (*row)(const struct pk_cpu_pass *p, size_t row));
/* The same for runs of PK_CPU_RUN of n elements. */
enum { PK_CPU_RUN = 1 << 15 };
void pk_cpu_each_run(struct pk_device *dev, const void *op, size_t n,
                     void (*run)(const struct pk_cpu_pass *p, size_t run));
/* Elements of run `run`. */
static inline size_t pk_cpu_run_length(size_t n, size_t run)
{
    return n - run * PK_CPU_RUN < PK_CPU_RUN ? n - run * PK_CPU_RUN : PK_CPU_RUN;
}

/* key_ranges.c: how backward of one problem is shared by several threads.
 *
 * Keys are cut into n ranges of equal work. A range owns its rows of dk and dv; its part of dq goes to dq
 * itself (range 0) or to a partial copy, added up at the end. */
struct pk_key_ranges {
    const struct pk_attention *at;
    size_t n;
    float *partial; /* (n - 1) x [batch, seq, dim], of the pool; NULL when n is 1 */
};

/* PK_E_OOM when the pool refuses the partial copies. */
enum pk_code pk_key_ranges_init(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_attention *at,
                                struct pk_err *err);

/* What it takes of the pool, in its rounding. */
size_t pk_key_ranges_bytes(const struct pk_attention *at, unsigned threads);

/* First key of a range; of range n: seq. */
size_t pk_key_ranges_begin(const struct pk_key_ranges *r, size_t range);

/* Where a range puts its part of a problem's dq, [seq, dim]. */
float *pk_key_ranges_dq(const struct pk_key_ranges *r, size_t problem, size_t range);

/* Adds the parts into dq and gives the copies back. */
void pk_key_ranges_sum(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_kernels *k);

/* widened.c: attention over bf16 arrays by the kernels of fp32.
 *
 * Some problems at a time, so that the workspace is bounded: q k v o d_o are widened, the op runs on those, and what it wrote is narrowed.
 * Probabilities alone stay as they are stored: they are [seq, seq], and fused goes through them by blocks. */
/* Of fp32 arrays but for p, whose type is at->dtype. */
typedef enum pk_code pk_cpu_attention_fn(struct pk_device *dev, const struct pk_attention *at,
                                         struct pk_err *err);

/* fn itself for fp32. PK_E_OOM. */
enum pk_code pk_cpu_widened(struct pk_device *dev, const struct pk_attention *at, bool backward,
                            pk_cpu_attention_fn *fn, struct pk_err *err);
/* What it takes of the pool, with what fn takes for a group of problems: bytes(). */
size_t pk_cpu_widened_bytes(const struct pk_attention *at, bool backward, unsigned threads,
                            size_t (*bytes)(const struct pk_attention *at, unsigned threads));

/* The rows of pk_ops_cpu. */
#define PK_CPU_OP(op) __typeof__(pk_op_##op) pk_cpu_##op;
PK_ARRAY_OPS(PK_CPU_OP)
PK_ATTENTION_OPS(PK_CPU_OP)
#undef PK_CPU_OP
/* Of bf16 operands (gemm_bf16.c). */
enum pk_code pk_cpu_gemm_bf16(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err);
