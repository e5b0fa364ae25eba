/* Ceilings: the peak rates of this device, measured by perfkit's own micro-kernels so that a slow library cannot hide; those of tensor
 * cores alone by the library that has their fastest code, whose data sheet stands beside them (device/cuda/cuda.h). Measured
 * repeatedly (bench/client/ceilings_store.h), stored with the machine, used for % of floor and for the share of a model's FLOPs.
 *
 * The rate of memory is measured over the size of the arrays (curve.h), and a case is compared with the level in which its bytes live. */
#pragma once

#include "device/device.h"
#include "ops/ceilings/curve.h"

/* A cache level, or what is between the caches and memory. */
struct pk_level_rate {
    double to_bytes; /* it has room for so many, over all lanes; 0 = there is no such level */
    double bytes_per_s, copy_bytes_per_s;
};

struct pk_ceilings {
    double fp32_flops_per_s; /* multiply-add micro-kernel held in registers (and L1), the whole chip */
    double exp_per_s;        /* CPU: vectorised expf; GPU: the hardware's, __expf; the whole chip */
    double
        memory_bytes_per_s; /* the fastest stream of several arrays (curve.h), all lanes, arrays that no cache holds */
    double copy_bytes_per_s; /* a dense copy of such arrays */
    double cache_bytes;      /* last-level cache, all of the machine's */
    /* Large products with fp32 sums, of random numbers; 0 = this device makes none. A GPU from compute capability 8.0 on: cuBLASLt. A
     * CPU: of bf16, the better of oneDNN, where it has instructions for it, and fp32's rate, by which it multiplies without them. */
    double tf32_flops_per_s, bf16_flops_per_s;
    struct pk_level_rate level[PK_LEVEL_MEMORY]; /* L1, L2, L3, between */
};

/* The rate of the level in which so many bytes live; that of memory where levels are not known, or the bytes (0). */
double pk_ceilings_bandwidth(const struct pk_ceilings *c, double bytes);

/* The rates over size of a device: of all lanes, and of one where `one_lane` asks for it and the device has several. */
struct pk_curves {
    size_t n;
    struct pk_curve v[2];
};

/* Takes about a second, and another one for one lane; more where the kernel is slow to provide memory. The pool needs room for 16 KiB a
 * thread and on a CPU with bf16 instructions 8 MiB a thread, on a GPU for 48 x its L2 cache and the workspace of a product. Half of the
 * pool's limit is used at most. */
enum pk_code pk_ceilings_measure(struct pk_device *dev, bool one_lane, struct pk_ceilings *out,
                                 struct pk_curves *curves, struct pk_err *err) PK_MUST_CHECK;

/* Fills the rates of memory and of the levels. */
void pk_ceilings_of_curve(const struct pk_curve *c, const double cache_bytes[PK_LEVEL_BETWEEN],
                          struct pk_ceilings *out);

/* cpu.c: of a CPU; streams.c: its curves */
enum pk_code pk_cpu_ceilings(struct pk_device *dev, bool one_lane, struct pk_ceilings *out,
                             struct pk_curves *curves, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_cpu_curves(struct pk_device *dev, bool one_lane, struct pk_ceilings *out,
                           struct pk_curves *curves, struct pk_err *err) PK_MUST_CHECK;

/* ops/cuda/ceilings.c, in builds with CUDA: of a GPU */
enum pk_code pk_cuda_ceilings(struct pk_device *dev, struct pk_ceilings *out, struct pk_curves *curves,
                              struct pk_err *err) PK_MUST_CHECK;
