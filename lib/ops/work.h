/* Work: what an operation must do, counted and never measured.
 *
 * flops: floating-point additions and multiplications of products (a fused multiply-add is two); exponentials apart. What passes over
 *        arrays computes between reading and writing them is not counted: memory bounds it.
 * bytes: what the kernels read and write as their algorithm states it, every pass counted (read 4 + write 4 for
 *        an in-place fp32 pass); what stays in a cache is counted all the same, and tables flag such cases.
 * The harness derives rates and % of floor from it; nobody else does. */
#pragma once

#include <stdint.h>

struct pk_work {
    double flops;
    double
        tensor_flops; /* of these, the products that tensor cores make, of bf16 or tf32: no % of floor is said of them */
    double bytes;
    double exps;     /* exponentials and other transcendental calls */
    double messages; /* collective operations started */
};

static inline struct pk_work pk_work_add(struct pk_work a, struct pk_work b)
{
    return (struct pk_work){a.flops + b.flops, a.tensor_flops + b.tensor_flops, a.bytes + b.bytes,
                            a.exps + b.exps, a.messages + b.messages};
}
