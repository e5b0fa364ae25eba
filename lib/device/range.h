/* Range: names around work, for profilers that listen (NVTX: nsys, ncu). Costs a test of a pointer when none does; in builds without
 * CUDA nothing. Ranges may overlap. */
#pragma once

#include <stdint.h>

uint64_t pk_range_begin(const char *name);
void pk_range_end(uint64_t range);
