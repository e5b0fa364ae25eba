/* Entropy: how far elements could be compressed without loss.
 *
 * Counts are of single elements, so the bounds hold for coders that look at no neighbour: Shannon's bound of order 0.
 *   exponent_bits    entropy of the 8 exponent bits (2.546 of N(0,1))
 *   exponent_bound   bits / (bits - 8 + exponent_bits): sign and mantissa cannot be compressed (N(0,1): 1.205 in fp32, 1.517 in bf16)
 *   plane_bound      bits / the sum of the entropies of the planes that the exponent filter makes: also where mantissas are not random,
 *                    such as of bf16 values that were widened to fp32
 * All are ratios raw / stored. Counting reads every byte: about 1 GB/s. */
#pragma once

#include "ops/dtype.h"

struct pk_entropy {
    enum pk_dtype type;
    uint64_t elements;
    uint64_t plane[4][256]; /* [0] = exponents */
};

/* Begin with {.type = T}. */
void pk_entropy_add(struct pk_entropy *e, const void *elements, size_t n);

struct pk_entropy_bounds {
    double exponent_bits, exponent_bound,
        plane_bound; /* NaN without elements; infinite where nothing is left */
};
struct pk_entropy_bounds pk_entropy_bounds(const struct pk_entropy *e);
