/* Gemm key: what the choice of an algorithm depends on, and choices as text: what processes of a run tell each other
 * (device/choices.h). Private to lib/ops/cuda. */
#pragma once

#include "ops/cuda/gemm_lt.h"

#include <cublasLt.h>

/* Everything but the scalars' values and the addresses. Compared as bytes. */
struct pk_lt_key {
    struct pk_lt_gemm g; /* alpha, a, b, c: zero; beta: 0 or 1 */
    uint32_t align_a, align_b, align_c;
};
void pk_lt_key_of(const struct pk_lt_gemm *g, struct pk_lt_key *key);

/* For people a shape, then a hash of the whole key and the library's version: "gemm 130100 64x64x64 b8 NT bf16>fp32 +c 0f..". */
enum { PK_LT_KEY_TEXT = 112, PK_LT_ALGO_TEXT = 2 * sizeof(cublasLtMatmulAlgo_t) + 1 };
void pk_lt_key_text(const struct pk_lt_key *key, size_t version, char out[PK_LT_KEY_TEXT]);

/* The library's opaque bytes in hexadecimal, which hold for its version alone; false: the text is not of that kind. */
void pk_lt_algo_text(const cublasLtMatmulAlgo_t *algo, char out[PK_LT_ALGO_TEXT]);
bool pk_lt_algo_parse(const char *text, cublasLtMatmulAlgo_t *algo);
