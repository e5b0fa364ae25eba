/* Timed: what benchmarks have in common: an error that ends them, and the clock of a device. */
#pragma once

#include "base/clock.h"
#include "device/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct pk_err err;

static inline void must(enum pk_code rc)
{
    if (rc) {
        fprintf(stderr, "%s: %s\n", err.what, err.why);
        exit(1);
    }
}

/* Of one thread its CPU time, so that others on the machine take less from it. */
static inline uint64_t now_ns(const struct pk_device *dev)
{
    struct timespec t;
    clock_gettime(pk_cpu_threads(dev) == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * PK_NS_PER_S + (uint64_t)t.tv_nsec;
}
