/* Trial: an op on the open device, whichever it is: inputs copied in, outputs poisoned, guards around all, results compared.
 *
 * Functions end the test by cmocka's ways. An op that the device does not have skips the test, with the op's name. */
#pragma once

#include "base/arena.h"
#include "device/device.h"
#include "ops/dtype.h"

struct trial {
    struct pk_device *dev;
    const char *label;     /* told in messages: "avx2" */
    struct pk_arena arena; /* host memory of one trial */
    struct pk_err err;
    struct {
        unsigned char *base; /* guard, contents, guard */
        size_t bytes;        /* of the contents */
    } array[16];
    size_t n;
};

/* Contents on the device: 256-byte aligned, with guards. NULL: poisoned with bytes that are a NaN as float or double. */
void *trial_bytes(struct trial *t, const void *contents, size_t bytes);
float *trial_input(struct trial *t, const float *host, size_t n);
/* The same stored as `type`: what is on the device is what host holds after it. */
void *trial_stored(struct trial *t, enum pk_dtype type, float *host, size_t n);
float *trial_output(struct trial *t, size_t n);
/* Standard normal numbers in the trial's host memory. */
float *trial_random(struct trial *t, size_t n, uint64_t seed);
/* A copy of device memory in the trial's host memory, after all work. */
void *trial_fetch(struct trial *t, const void *device, size_t bytes);

/* The same of n elements, as fp32. */
const float *trial_wide(struct trial *t, enum pk_dtype type, const void *device, size_t n);

/* What an op answered: nothing when it is PK_OK. */
void trial_ran(struct trial *t, const char *op, enum pk_code rc);
/* pk_reference_error of what the device holds */
double trial_error(struct trial *t, const float *device, const double *want, size_t n);
/* Near enough for what the products and the results have of precision: trial_allowed. */
void trial_close(struct trial *t, const char *what, enum pk_dtype type, const void *device,
                 const double *want, size_t n, double allowed);
/* Of a result of `terms` products. Sums of exact ones wander by about sqrt(terms) roundings, of tensor cores four times as far, because
 * they cut and do not round; errors of tf32's operands are independent and stay below the size of the result; 8 is headroom. A result
 * in bf16 is rounded once more. */
double trial_allowed(enum pk_dtype operands, enum pk_math math, enum pk_dtype result, size_t terms);
/* fp32 results of exact products. */
void trial_near(struct trial *t, const char *what, const float *device, const double *want, size_t n,
                size_t terms);
/* Asserts the guards and gives everything back. */
void trial_end(struct trial *t);
