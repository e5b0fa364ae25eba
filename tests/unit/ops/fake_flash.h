/* Fake flash: kernels of flash attention on the host, for tests of what launches them. The real ones are checked in tests/cudashim. */
#pragma once

#include "ops/cuda/kernels.h"

extern struct pk_chip fake_flash_chip; /* of the last launch */
extern size_t fake_flash_parts;        /* of the last launch */
extern int fake_flash_fail;            /* what a launch answers */
extern int fake_flash_3xtf32;          /* launches of that class */
extern int fake_flash_fp16x3;          /* likewise */
extern int fake_flash_five;            /* backward launches with five products */
