/* Delay: the one kernel that a device needs for itself: it lets time pass and leaves memory alone. Private to lib/device/cuda. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* One thread that looks at the chip's clock of ns until so many have passed: the rest of the chip is free. The launch's error, 0 = none. */
int pk_k_delay(struct CUstream_st *stream, uint64_t ns);

#ifdef __cplusplus
}
#endif
