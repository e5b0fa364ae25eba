/* Rectangles: copying pieces of row-major arrays, and filling them with numbers that can be checked anywhere.
 *
 * A separate header because callers of these need none of the mathematics in ops.h; the rows of the vtable are there. */
#pragma once

#include "device/device.h"
#include "ops/shapes.h"
#include "ops/work.h"

/* One operation for all n rectangles: the bytes, not the rectangles, are divided among threads or blocks. A GPU takes rectangles as
 * arguments of its launches, some dozens at a time, so that nothing is uploaded: this may be captured. */
enum pk_code pk_op_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n,
                          struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_fill(struct pk_device *dev, const struct pk_fill *v, size_t n,
                        struct pk_err *err) PK_MUST_CHECK;

/* Copies that are done again and again: one launch on a GPU however many they are, which reads what is to be done from device memory. */
struct pk_copies {
    const struct pk_copy2d *v; /* the caller's */
    size_t n;
    void *table; /* device memory, PK_TAG_WORKSPACE; NULL on a device that needs none */
    size_t tiles;
};
/* At set-up: waits for the device. PK_E_OOM. */
enum pk_code pk_copies_make(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_copies *out,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_copies_free(struct pk_device *dev, struct pk_copies *c);
enum pk_code pk_op_copies(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err) PK_MUST_CHECK;

struct pk_work pk_work_copy2d(const struct pk_copy2d *v, size_t n); /* read + written */
struct pk_work pk_work_fill(const struct pk_fill *v, size_t n);     /* written */
