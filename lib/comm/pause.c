/* Pause: an absolute deadline, met to a microsecond. */
#include "comm/pause.h"

#include "base/clock.h"
#include "base/err.h"
#include "device/null.h"

#include <sys/prctl.h>

/* The kernel wakes a sleeper late by its timer slack, 50 us unless it is told otherwise, and by what it takes to schedule it. */
enum { SLACK_NS = 1, SPIN_NS = 20000 };

void pk_pause_until(struct pk_device *dev, uint64_t ns)
{
    pk_assert(dev->kind != PK_DEVICE_CUDA);
    const uint64_t now = pk_device_now_ns(dev);
    if (dev->kind == PK_DEVICE_NULL) {
        if (now < ns)
            pk_null_advance(dev, ns - now);
        return;
    }
    if (now + 2 * SPIN_NS < ns) {
        const uint64_t until = ns - SPIN_NS;
        const struct timespec t = {(time_t)(until / PK_NS_PER_S), (long)(until % PK_NS_PER_S)};
        prctl(PR_SET_TIMERSLACK, SLACK_NS);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL); /* woken early, it spins longer */
    }
    while (pk_device_now_ns(dev) < ns)
        continue;
}
