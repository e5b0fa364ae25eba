/* Filter: orders the bytes of floating-point elements for a codec. Exact, and of the same size.
 *
 *   none      as they are
 *   shuffle   one plane for each byte of an element: all highest bytes first, then the next ones
 *   exponent  the element's bits are rotated left by one first, which brings the 8 bits of the exponent into the highest byte. The
 *             first plane is then the exponents; the other planes hold the mantissa, with the sign as the lowest bit
 * Bytes after the last whole element are copied. The exponents are what compresses: mantissas are nearly random, so that a codec spends
 * its time on the first plane alone where sampling the others finds nothing (chunk.h).
 *
 * The loops are compiled once per instruction set (shard/isa/) and chosen at run time by pk_isa_detect. Baseline is the reference. */
#pragma once

#include "device/cpu/blas.h"
#include "ops/dtype.h"

#include "base/err.h"

enum pk_byte_filter { PK_FILTER_NONE, PK_FILTER_SHUFFLE, PK_FILTER_EXPONENT, PK_FILTERS };
extern const char *const pk_byte_filter_names[PK_FILTERS + 1]; /* ends with NULL */

/* An unknown name is PK_E_USAGE. */
enum pk_code pk_byte_filter_parse(const char *name, enum pk_byte_filter *f, struct pk_err *err) PK_MUST_CHECK;

/* from and to have `bytes` bytes and do not overlap. isa is at most pk_isa_detect(). */
void pk_byte_filter_apply(enum pk_byte_filter f, enum pk_isa isa, enum pk_dtype type, const void *from,
                          size_t bytes, void *to);
void pk_byte_filter_invert(enum pk_byte_filter f, enum pk_isa isa, enum pk_dtype type, const void *from,
                           size_t bytes, void *to);
/* The size of the first plane; all bytes without a filter. */
size_t pk_byte_filter_first_plane(enum pk_byte_filter f, enum pk_dtype type, size_t bytes);

/* --- the loops, a table per instruction set: shard/isa/planes.c ---
 *
 * n elements and n x pk_dtype_bytes bytes of planes, the plane of the highest byte first. With `rotate`, the bits of an element are
 * rotated left by one before they are split, and right by one after they are joined. Memory need not be aligned and does not overlap. */
struct pk_planes {
    void (*split[2])(const void *elements, uint8_t *planes, size_t n, unsigned rotate); /* by enum pk_dtype */
    void (*join[2])(const uint8_t *planes, void *elements, size_t n, unsigned rotate);
};

/* A table for each instruction set that the loops are compiled for. */
extern const struct pk_planes pk_planes_baseline;
#if defined(__x86_64__)
extern const struct pk_planes pk_planes_avx2, pk_planes_avx512;
#endif
