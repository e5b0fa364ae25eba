/* Clock: the host's monotonic time in nanoseconds. Timed regions read the clock of their device (device/device.h), which on the CPU is
 * this one. */
#pragma once

#include <stdint.h>
#include <time.h>

#define PK_NS_PER_S  1000000000ull
#define PK_NS_PER_MS 1000000ull

static inline uint64_t pk_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * PK_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Wall-clock time in nanoseconds since 1970: for time stamps only, never for durations. */
static inline uint64_t pk_wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * PK_NS_PER_S + (uint64_t)t.tv_nsec;
}
