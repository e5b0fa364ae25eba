/* Bf16: the vendor's product of bf16 operands with fp32 sums on the CPU, opened at run time.
 *
 * oneDNN, where it has instructions for it: by its own answer of the instruction set it uses, asked only on a CPU that has them. On others
 * it has kernels that take bf16 operands apart in registers, 4 to 8 times slower than products of fp32 (8 to 25 GFLOP/s against 85 to 115
 * on a Cascade Lake core): there, and without oneDNN, ops widen operands to fp32 and multiply those, which gives the same products,
 * for those of bf16 are exact in fp32.
 *
 * PERFKIT_BF16=onednn takes oneDNN whatever the CPU has, widened never does; ignored in a set-uid program. Which it is, and why, is
 * a fact of the device. The function, dnnl_gemm_bf16bf16f32, is exported by oneDNN (2.6.3 was tried) but not in its manual: it is
 * tried once when it is opened, and one without it is none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char *const pk_bf16_words[]; /* of PERFKIT_BF16; NULL-terminated */

struct pk_bf16 {
    void *handle;  /* of dlopen */
    void *product; /* NULL: widen */
    char name
        [160]; /* "onednn 2.6.3, avx512_core_bf16", "widened to fp32: this CPU has no bf16 instructions" */
    char warning[256]; /* oneDNN was asked for and is not used; "" = none */
};

/* Never fails: what cannot be opened is widened, and name says why. */
void pk_bf16_open(struct pk_bf16 *b);
void pk_bf16_close(struct pk_bf16 *b);

/* As struct pk_sgemm, but for the elements of a and b. product is not NULL. Thread safe, on the calling thread. */
struct pk_bf16_gemm {
    bool a_trans, b_trans;
    size_t m, n, k;
    float alpha, beta;
    const uint16_t *a, *b;
    float *c;
    size_t lda, ldb, ldc;
};
void pk_bf16_gemm(const struct pk_bf16 *b, const struct pk_bf16_gemm *g);
