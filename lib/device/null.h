/* Null: a device that computes nothing and has a simulated clock, so that all measurements on it are exact.
 *
 * Time starts at 0 and passes only when work is declared: reading the clock costs nothing. Rates are powers of two, so that shapes of
 * powers of two take whole nanoseconds; times are rounded up to whole nanoseconds. Addresses are not backed by memory: access from the
 * host is a bug, as on a GPU. With options.seed set, every advance is stretched by log-normal noise: PK_NULL_SD_PROCESS drawn once when
 * the device is opened, PK_NULL_SD_STEP each time. Equal seeds give equal times. */
#pragma once

#include "device/device.h"

#define PK_NULL_FLOPS_PER_NS 1024.0
#define PK_NULL_BYTES_PER_NS 1024.0
#define PK_NULL_EXPS_PER_NS  128.0
#define PK_NULL_SD_PROCESS   0.01
#define PK_NULL_SD_STEP      0.01

enum { PK_NULL_LIMIT_GIB = 32 }; /* pool limit when none is set */

extern const struct pk_device_ops pk_device_null;

/* Advances the clock by ns. */
void pk_null_advance(struct pk_device *dev, uint64_t ns);

/* Advances the clock by the time of this work: the longest of its parts at the rates above. */
void pk_null_work(struct pk_device *dev, double flops, double bytes, double exps);

/* From now on each op allocates, while it runs, the workspace that a device of this kind would need (a CPU with this number of threads).
 * PK_DEVICE_NULL, the default: none. */
struct pk_null_part {
    enum pk_device_kind kind;
    unsigned threads;
};
void pk_null_set_workspace_of(struct pk_device *dev, struct pk_null_part part);
struct pk_null_part pk_null_workspace_of(const struct pk_device *dev);

/* Work declared since the device was opened: the events of the counter source "fake". */
struct pk_null_counts {
    uint64_t works;
    double flops, bytes, exps;
};
struct pk_null_counts pk_null_work_counts(const struct pk_device *dev);
