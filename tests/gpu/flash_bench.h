/* Flash bench: a kernel of flash attention launched in two ways in the same process: the least time of each, and how far results differ. */
#pragma once

#include "device/device.h"
#include "ops/cuda/kernels.h"

#include <stdbool.h>

typedef int flash_launch(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                         const struct pk_flash_parts *parts, float *memory);

struct flash_bench {
    struct pk_device *dev;
    struct pk_attention at;
    flash_launch *launch;
    bool backward;
    struct pk_err err;
};

/* at's shape, scale and mask are given; its arrays are taken and inputs filled. What fails here ends the process with its message. */
void flash_take(struct flash_bench *b);
void flash_free(struct flash_bench *b);

/* The least time of several launches, after one that makes what is only needed once. memory: its workspace. */
double flash_best_ns(struct flash_bench *b, const struct pk_flash_parts *parts, float *memory);
/* What the direction has written, in host memory that the caller frees: o, or dq, dk and dv behind each other. */
float *flash_results(struct flash_bench *b);
/* The root of the mean square difference of n elements, relative to a. */
double flash_difference(const float *a, const float *b, size_t n);

/* flash_five.c: prints the table of five products beside seven; the number of lines in which five are no faster. */
int flash_five_table(struct flash_bench *b, bool tiny);

void *flash_memory(struct flash_bench *b, size_t bytes); /* NULL for 0 bytes */
