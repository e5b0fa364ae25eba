/* Rectangles: copying pieces of row-major arrays, and filling them with numbers that can be checked anywhere.
 *
 * A separate header because callers of these need none of the mathematics in ops.h; the rows of the vtable are there. */
#pragma once

#include "device/device.h"
#include "ops/shapes.h"
#include "ops/work.h"

/* One operation for all n rectangles: the bytes, not the rectangles, are divided among threads or blocks. */
enum pk_code pk_op_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n,
                          struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_op_fill(struct pk_device *dev, const struct pk_fill *v, size_t n,
                        struct pk_err *err) PK_MUST_CHECK;

struct pk_work pk_work_copy2d(const struct pk_copy2d *v, size_t n); /* read + written */
struct pk_work pk_work_fill(const struct pk_fill *v, size_t n);     /* written */
