/* Ceilings: the peak rates of this device, measured by perfkit's own micro-kernels so that a slow library cannot hide; those of tensor
 * cores alone by the library that has their fastest code, whose data sheet stands beside them (device/cuda/cuda.h). Measured
 * repeatedly (bench/client/ceilings_store.h), stored with the machine, used for % of floor and for the share of a model's FLOPs. */
#pragma once

#include "device/device.h"

struct pk_ceilings {
    double fp32_flops_per_s; /* multiply-add micro-kernel held in registers (and L1), the whole chip */
    double exp_per_s;        /* CPU: vectorised expf; GPU: the hardware's, __expf; the whole chip */
    double
        memory_bytes_per_s; /* read + written, arrays far larger than the last-level cache: best of update in
                                * place, copy and triad */
    double
        copy_bytes_per_s; /* read + written by one dense pk_op_copy2d of such arrays: the lines it writes it
                                * also has to fetch, or to write past the cache, which an update in place needs not */
    double cache_bytes;   /* last-level cache; a case whose working set is smaller is flagged */
    /* Large products with fp32 sums, of random numbers; 0 = this device makes none. A GPU from compute capability 8.0 on: cuBLASLt. A
     * CPU: of bf16, the better of oneDNN, where it has instructions for it, and fp32's rate, by which it multiplies without them. */
    double tf32_flops_per_s, bf16_flops_per_s;
};

/* Takes half a second. The pool needs room for about 8 x cache_bytes and on a CPU with bf16 instructions 8 MiB a thread, on a GPU for
 * 48 x its L2 cache and the workspace of a product. */
enum pk_code pk_ceilings_measure(struct pk_device *dev, struct pk_ceilings *out,
                                 struct pk_err *err) PK_MUST_CHECK;

/* cpu.c: of a CPU */
enum pk_code pk_cpu_ceilings(struct pk_device *dev, struct pk_ceilings *out,
                             struct pk_err *err) PK_MUST_CHECK;
