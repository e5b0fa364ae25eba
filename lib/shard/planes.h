/* Planes: the loops of the filters, a table per instruction set (shard/isa/planes.c).
 *
 * n elements and n x pk_dtype_bytes bytes of planes, the plane of the highest byte first. With `turn`, the bits of an element are
 * rotated left by one before they are split, and right by one after they are joined. Memory need not be aligned and does not overlap. */
#pragma once

#include "ops/dtype.h"

struct pk_planes {
    void (*split[2])(const void *elements, uint8_t *planes, size_t n, unsigned turn); /* by enum pk_dtype */
    void (*join[2])(const uint8_t *planes, void *elements, size_t n, unsigned turn);
};

/* A table for each instruction set that the loops are compiled for. */
extern const struct pk_planes pk_planes_baseline;
#if defined(__x86_64__)
extern const struct pk_planes pk_planes_avx2, pk_planes_avx512;
#endif
