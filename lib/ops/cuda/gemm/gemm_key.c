/* Gemm key: made, and as text. */
#include "ops/cuda/gemm/gemm.h"

#include "device/choices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)PK_LT_KEY_TEXT <= (int)PK_CHOICE_KEY_MAX, "a key is the name of a choice");

enum { ALIGN_MOST = 256 }; /* the largest alignment that the library distinguishes */

static uint32_t alignment(const void *p)
{
    uintptr_t low = (uintptr_t)p & -(uintptr_t)p;
    return low && low < ALIGN_MOST ? (uint32_t)low : ALIGN_MOST;
}

/* Zeroed first, padding too. */
void pk_lt_key_of(const struct pk_lt_gemm *g, struct pk_lt_key *key)
{
    memset(key, 0, sizeof *key);
    key->g.m = g->m;
    key->g.n = g->n;
    key->g.k = g->k;
    key->g.batch = g->batch;
    key->g.ta = g->ta;
    key->g.tb = g->tb;
    key->g.ab_type = g->ab_type;
    key->g.c_type = g->c_type;
    key->g.math = g->ab_type == PK_FP32 ? g->math : PK_MATH_IEEE;
    key->g.beta = g->beta != 0;
    key->g.lda = g->lda;
    key->g.ldb = g->ldb;
    key->g.ldc = g->ldc;
    key->g.stride_a = g->stride_a;
    key->g.stride_b = g->stride_b;
    key->g.stride_c = g->stride_c;
    key->align_a = alignment(g->a);
    key->align_b = alignment(g->b);
    key->align_c = alignment(g->c);
}

/* FNV-1a. */
static uint64_t hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

void pk_lt_key_text(const struct pk_lt_key *key, size_t version, char out[PK_LT_KEY_TEXT])
{
    static const char *const types[] = {[PK_FP32] = "fp32", [PK_BF16] = "bf16"};
    const struct pk_lt_gemm *g = &key->g;
    snprintf(out, PK_LT_KEY_TEXT, "gemm %zu %zux%zux%zu b%zu %c%c %s>%s%s %016" PRIx64, version, g->m, g->n,
             g->k, g->batch, "NT"[g->ta], "NT"[g->tb], g -> math == PK_MATH_TF32 ? "tf32" : types[g->ab_type],
             types[g->c_type], g->beta != 0 ? " +c" : "", hash(key, sizeof *key));
}

void pk_lt_algo_text(const cublasLtMatmulAlgo_t *algo, char out[PK_LT_ALGO_TEXT])
{
    const unsigned char *bytes = (const unsigned char *)algo;
    for (size_t i = 0; i < sizeof *algo; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

bool pk_lt_algo_parse(const char *text, cublasLtMatmulAlgo_t *algo)
{
    unsigned char *bytes = (unsigned char *)algo;
    if (strlen(text) != PK_LT_ALGO_TEXT - 1 || strspn(text, "0123456789abcdef") != PK_LT_ALGO_TEXT - 1)
        return false;
    for (size_t i = 0; i < sizeof *algo; i++) {
        unsigned byte;
        sscanf(text + 2 * i, "%2x", &byte);
        bytes[i] = (unsigned char)byte;
    }
    return true;
}
