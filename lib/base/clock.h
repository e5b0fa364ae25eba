/* Clock: the host's monotonic time in nanoseconds, and how long work goes on after a signal. Timed regions read the clock of their device (device/device.h), which on the CPU is
 * this one. */
#pragma once

#include <stdbool.h>
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

/* CPU time of the calling thread. */
static inline uint64_t pk_thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * PK_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Wall-clock time in nanoseconds since 1970: for time stamps only, never for durations. */
static inline uint64_t pk_wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * PK_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Reading and printing that a signal ends: not at once, so that an interrupted command can still show what it has. */
enum { PK_GRACE_MS = 700 };
struct pk_grace {
    const volatile int *stop_flag; /* set by a signal handler; NULL = no signal ends it */
    uint64_t since_ns;             /* when the flag was first seen; 0 = not yet */
};

static inline bool pk_grace_is_over(struct pk_grace *g)
{
    if (!g->stop_flag || !*g->stop_flag)
        return false;
    const uint64_t now = pk_clock_ns();
    if (!g->since_ns)
        g->since_ns = now;
    return now - g->since_ns >= PK_GRACE_MS * PK_NS_PER_MS;
}
