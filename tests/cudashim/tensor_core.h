/* Tensor core: the arithmetic of one element of a product of tf32 matrices, as an A100 computes it.
 *
 * mma.sync.m16n8k8 with tf32 operands adds eight products to c in two steps of four. In each step
 *   - products are exact;
 *   - the four products and c are aligned to the largest exponent among them, an operand's product having the sum of its exponents, and cut off
 *     24 bits below it: each term is rounded toward zero;
 *   - what is left is added exactly, and the sum is rounded toward zero to fp32.
 * An H100 or H200 does the same with all eight products in one step, cut off 25 bits below: it loses less, so that a bound which holds here
 * holds there. Sources: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330 (2021), section A100; Xie
 * et al., "MMA-Sim", arXiv:2511.10909 (2025), which compared this model bit by bit with an A100 and an H100; Khattak, Mikaitis,
 * arXiv:2512.07004 (2025). NVIDIA documents none of it, and it was not compared with a GPU here. */
#pragma once

#include <cstdint>

/* An operand, decoded once: a product of many rows and columns reads each number often. */
struct pk_term {
    double value;
    int exponent;
};
/* The last 13 bits are not looked at. */
pk_term pk_tf32_decoded(uint32_t bits);
pk_term pk_fp16_decoded(uint16_t bits);

/* Of eight columns, whose sums are made at once. */
constexpr int PK_COLUMNS_AT_ONCE = 8;
struct pk_terms {
    double value[PK_COLUMNS_AT_ONCE];
    int exponent[PK_COLUMNS_AT_ONCE];
};
inline void pk_terms_set(pk_terms &t, int column, const pk_term &one)
{
    t.value[column] = one.value, t.exponent[column] = one.exponent;
}

/* To each column of c the products of a[i] and b[i], i < 8. Infinities and NaNs give what IEEE sums give. */
void pk_tensor_core_add(const pk_term *a, const pk_terms *b, float *c);

/* The same of 16 fp16 numbers, in two steps of eight (source: as above). A wgmma of an H100 makes one step of all 16, cut off 25 bits below: it
 * loses less. */
void pk_tensor_core_add16(const pk_term *a, const pk_terms *b, float *c);
