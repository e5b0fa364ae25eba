/* Rectangles: copying pieces of row-major arrays, and filling them with numbers that can be checked anywhere.
 *
 * A separate header because callers of these need none of the mathematics in ops.h; the rows of the vtable are there. */
#pragma once

#include "device/device.h"
#include "ops/work.h"

/* rows x row_bytes from src (a row every src_stride bytes) to dst (a row every dst_stride bytes). They do not overlap. */
struct pk_copy2d {
    const void *src;
    void *dst;
    size_t rows, row_bytes, src_stride, dst_stride;
};

/* dst[r, c] = uniform in [-1, 1) from a hash of (seed, r * columns + c), for r < rows, c < cols; dst is dense [rows, cols], a part of
 * an array with `columns` columns. pk_fill_value is the definition; every device gives its bits. */
struct pk_fill {
    float *dst;
    size_t rows, cols, columns;
    uint64_t seed;
};

/* The top 24 bits of splitmix64's finaliser over seed * 0x9E3779B97F4A7C15 + index, exactly representable. */
static inline float pk_fill_value(uint64_t seed, uint64_t index)
{
    uint64_t x = seed * 0x9E3779B97F4A7C15u + index;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (float)(int32_t)(x >> 40) * 0x1p-23f - 1.0f;
}

/* One operation for all n rectangles: the bytes, not the rectangles, are divided among threads or blocks. */
enum pk_code pk_op_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err) PK_MUST_CHECK;

struct pk_work pk_work_copy2d(const struct pk_copy2d *v, size_t n); /* read + written */
struct pk_work pk_work_fill(const struct pk_fill *v, size_t n);     /* written */
