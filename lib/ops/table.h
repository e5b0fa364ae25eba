/* Table: entries of an array in device memory exchanged by their index, all by one operation.
 *
 * A separate header because its caller needs none of the mathematics in ops.h; the row of the vtable is there. */
#pragma once

#include "device/device.h"
#include "ops/shapes.h"
#include "ops/work.h"

/* table[v[i].index] = v[i].value for i < n; both arrays are device memory, no index stands in two patches. One launch on a GPU. */
enum pk_code pk_op_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                               size_t n, struct pk_err *err) PK_MUST_CHECK;

struct pk_work pk_work_table_patch(size_t n); /* patches read, entries written */
