/* Tile: the micro-kernel of all products here.
 *
 *   C[m, n] (op)= sum over k of A[m, k] * B[k, n]
 * A's elements are broadcast one by one, so A may have any layout: element (i, p) is a[i * a_row + p * a_col]. Rows of B and C are
 * contiguous vectors: row p of B is at b + p * ldb. A tile of TILE_M x TILE_NV vectors is kept in registers over the whole k. n is a
 * whole number of vectors: callers pad. */
#pragma once

#include "ops/cpu/isa/vec.h"

#if defined(__AVX512F__) || defined(__aarch64__)
enum { TILE_M = 8, TILE_NV = 3 }; /* 24 sums + 3 of B in 32 registers */
#elif defined(__AVX2__)
enum { TILE_M = 4, TILE_NV = 3 }; /* 12 + 3 + 1 broadcast in 16 */
#else
enum { TILE_M = 4, TILE_NV = 2 }; /* 8 + 2, and temporaries because there is no FMA */
#endif

enum tile_mode {
    TILE_STORE,  /* C = AB */
    TILE_ADD,    /* C = C + AB */
    TILE_TOP,    /* C = AB, and aux[n] = max(aux[n], C) */
    TILE_RESCALE /* C = C * aux[n] + AB */
};

struct product {
    size_t m, k;
    const float *a;
    size_t a_row, a_col;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
    float *aux; /* one per column of C, for TILE_TOP and TILE_RESCALE */
};

/* Constant mr, nv and mode: inlined into one function per combination. */
PK_INLINE void tile(const int mr, const int nv, const enum tile_mode mode, const struct product *p,
                    size_t row)
{
    vf sum[TILE_M][TILE_NV] = {0};
    const float *a = p->a + row * p->a_row, *b = p->b;
    const size_t a_row = p->a_row, a_col = p->a_col, ldb = p->ldb;
    for (size_t k = 0; k < p->k; k++, a += a_col, b += ldb)
        for (int i = 0; i < mr; i++)
            for (int j = 0; j < nv; j++)
                sum[i][j] += a[(size_t)i * a_row] * vload(b + j * VL);
    for (int j = 0; j < nv; j++) {
        float *c = p->c + row * p->ldc + j * VL;
        vf aux = mode == TILE_TOP || mode == TILE_RESCALE ? vload(p->aux + j * VL) : (vf){0};
        for (int i = 0; i < mr; i++, c += p->ldc) {
            if (mode == TILE_TOP)
                aux = vmax(aux, sum[i][j]);
            if (mode == TILE_ADD)
                sum[i][j] += vload(c);
            if (mode == TILE_RESCALE)
                sum[i][j] += vload(c) * aux;
            vstore(c, sum[i][j]);
        }
        if (mode == TILE_TOP)
            vstore(p->aux + j * VL, aux);
    }
}

/* All m rows of nv vector columns: full tiles, then halves of them. */
PK_INLINE void columns(const int nv, const enum tile_mode mode, const struct product *p)
{
    size_t row = 0;
    for (; row + TILE_M <= p->m; row += TILE_M)
        tile(TILE_M, nv, mode, p, row);
    for (; row + 2 <= p->m; row += 2)
        tile(2, nv, mode, p, row);
    if (row < p->m)
        tile(1, nv, mode, p, row);
}

/* n_vec vector columns, at most TILE_NV at a time. Inlined for one mode: wrap it in a function. */
PK_INLINE void product(const enum tile_mode mode, size_t n_vec, struct product p)
{
    while (n_vec) {
        size_t nv = n_vec < TILE_NV ? n_vec : TILE_NV;
        if (nv == TILE_NV)
            columns(TILE_NV, mode, &p);
        else if (nv == 2)
            columns(2, mode, &p);
        else
            columns(1, mode, &p);
        n_vec -= nv;
        p.b += nv * VL;
        p.c += nv * VL;
        if (p.aux)
            p.aux += nv * VL;
    }
}
