/* Blas: the vendor's single-precision GEMM on the CPU, opened at run time.
 *
 * OpenBLAS first, then oneDNN when the build has it, else none (PK_BLAS_OWN: ops/cpu use a GEMM of ours). Where both are there, oneDNN is the
 * other one: which makes products of a shape is found by trying (ops/cpu/gemm_library.c).
 * PERFKIT_BLAS=openblas|onednn|own chooses one, PERFKIT_OPENBLAS=/path/to/libopenblas.so.0 names a file; both
 * are ignored in a set-uid program.
 *
 * A library runs on the thread that calls it: parallelism is the crew's. OpenBLAS reads its core type from
 * the environment while it is loaded, and by itself takes its SSE3 kernels on CPUs newer than itself, so the
 * core type is chosen here from CPUID first; a user's own OPENBLAS_CORETYPE is left alone. What it then uses
 * is recorded and a core below the CPU is warned about. */
#pragma once

#include "device/isa.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Never fails: without a library the kind is PK_BLAS_OWN and name says why. */
void pk_blas_open(struct pk_blas *b, enum pk_isa isa);
/* Another library to choose from, shape by shape: oneDNN beside OpenBLAS, where the build has it and PERFKIT_BLAS chose none. Else the
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
