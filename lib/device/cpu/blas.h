/* Blas: the vendors' matrix products on the CPU, in fp32 and bf16, opened at run time; and the CPU's instruction set, by which they are
 * chosen.
 *
 * OpenBLAS first, then oneDNN if the build has it, else none (PK_BLAS_OWN: ops/cpu use perfkit's own GEMM). If both are there, the
 * faster one for each shape is found by timing (ops/cpu/gemm_library.c). PERFKIT_BLAS=openblas|onednn|own chooses one,
 * PERFKIT_OPENBLAS=/path/to/libopenblas.so.0 names a file; both are ignored in a set-uid program.
 *
 * A library runs on the calling thread only: parallelism comes from the thread pool (threads.h). OpenBLAS reads its core type from the
 * environment while it is loaded, and would use its SSE3 kernels on CPUs newer than itself, so the core type is set here from CPUID; a
 * user's own OPENBLAS_CORETYPE is not changed. The core type in use is recorded, with a warning if it is below the CPU's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instruction sets that kernels are compiled for. */
enum pk_isa { PK_ISA_BASELINE, PK_ISA_AVX2, PK_ISA_AVX512, PK_ISAS }; /* AVX2 means with FMA */

/* The best one the CPU and the system offer. */
enum pk_isa pk_isa_detect(void);
const char *pk_isa_name(enum pk_isa isa); /* "baseline", "avx2", "avx512" */

/* --- fp32 ----------------------------------------------------------------------------------------------------------- */

enum pk_blas_kind { PK_BLAS_OWN, PK_BLAS_OPENBLAS, PK_BLAS_ONEDNN };

extern const char *const pk_blas_words[]; /* of PERFKIT_BLAS; NULL-terminated */

struct pk_blas {
    enum pk_blas_kind kind;
    void *handle;      /* of dlopen */
    void *sgemm;       /* the library's own function, called through pk_blas_sgemm */
    char name[160];    /* "openblas 0.3.21", "onednn 2.6.3", "own (no BLAS library found)" */
    char core[32];     /* OpenBLAS's kernels: "SkylakeX"; "" for others */
    char warning[256]; /* "" = none */
};

/* Never fails: without a library the kind is PK_BLAS_OWN and `name` says why. */
void pk_blas_open(struct pk_blas *b, enum pk_isa isa);
/* The second library to choose from for each shape: oneDNN beside OpenBLAS, if the build has it and PERFKIT_BLAS is not set. Else the
 * kind is PK_BLAS_OWN. */
void pk_blas_open_other(struct pk_blas *b, const struct pk_blas *first);
void pk_blas_close(struct pk_blas *b);

/* One row-major problem on the calling thread: C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, with
 * leading dimensions in floats. C is not read when beta is 0. kind is not PK_BLAS_OWN. Thread safe. */
struct pk_sgemm {
    bool a_trans, b_trans;
    size_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    size_t lda, ldb, ldc;
};
void pk_blas_sgemm(const struct pk_blas *b, const struct pk_sgemm *g);

/* --- bf16 ----------------------------------------------------------------------------------------------------------- */

/* The product of bf16 operands with fp32 sums.
 *
 * oneDNN is used on CPUs with bf16 instructions, when oneDNN reports that it uses them. On other CPUs its kernels unpack bf16 operands
 * in registers, which is 4 to 8 times slower than fp32 products (8 to 25 GFLOP/s against 85 to 115 on a Cascade Lake core). There, and
 * without oneDNN, ops widen the operands to fp32 and multiply those, which gives the same products, because products of bf16 are exact
 * in fp32.
 *
 * PERFKIT_BF16=onednn uses oneDNN on every CPU, PERFKIT_BF16=widened never; both are ignored in a set-uid program. The choice and its
 * reason are a fact of the device. The function dnnl_gemm_bf16bf16f32 is exported by oneDNN (tested with 2.6.3) but undocumented: it is
 * tested once when the library is opened, and a library without it is not used. */
extern const char *const pk_bf16_words[]; /* of PERFKIT_BF16; NULL-terminated */

struct pk_bf16 {
    void *handle;  /* of dlopen */
    void *product; /* NULL: widen */
    char name
        [160]; /* "onednn 2.6.3, avx512_core_bf16", "widened to fp32: this CPU has no bf16 instructions" */
    char warning[256]; /* warning: oneDNN was requested and is not used; "" = none */
    char widened[256]; /* warning for a run whose products are widened, unless `warning` says it; "" = none */
};

/* Never fails: without a usable library `product` is NULL and `name` says why. */
void pk_bf16_open(struct pk_bf16 *b);
void pk_bf16_close(struct pk_bf16 *b);

/* As struct pk_sgemm, except for the elements of a and b. product is not NULL. Thread safe, on the calling thread. */
struct pk_bf16_gemm {
    bool a_trans, b_trans;
    size_t m, n, k;
    float alpha, beta;
    const uint16_t *a, *b;
    float *c;
    size_t lda, ldb, ldc;
};
void pk_bf16_gemm(const struct pk_bf16 *b, const struct pk_bf16_gemm *g);
