/* Call: how the wrappers of ops reach the open device's row of the table. For the files that hold wrappers, and nobody else. */
#pragma once

#include "ops/ops.h"

/* PK_E_UNAVAILABLE, with the op's name. */
enum pk_code pk_op_absent(const struct pk_device *dev, const char *op, struct pk_err *err);

/* The device's function for a row of the table, or an answer that it has none. */
#define PK_CALL(op, ...)                                                                                     \
    (pk_ops_of(dev)->op ? pk_ops_of(dev)->op(dev, __VA_ARGS__, err) : pk_op_absent(dev, #op, err))

/* The same, written down where the device is traced, with its declared work: a pk_work_* of what it is given, the one that the null device
 * passes (null_ops.c), and counted only there. It returns. */
#define PK_TRACED(family, work, op, ...)                                                                     \
    do {                                                                                                     \
        if (!dev->trace)                                                                                     \
            return PK_CALL(op, __VA_ARGS__);                                                                 \
        const struct pk_work declared = work;                                                                \
        const uint64_t begin_ns = pk_device_now_ns(dev);                                                     \
        const enum pk_code rc = PK_CALL(op, __VA_ARGS__);                                                    \
        if (!rc)                                                                                             \
            pk_trace_add(dev, #op, family, begin_ns, (struct pk_declared){declared.flops, declared.bytes});  \
        return rc;                                                                                           \
    } while (0)
