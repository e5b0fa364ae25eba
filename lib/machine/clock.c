/* Clock: what one reading of the monotonic clock can tell apart, and what it costs. */
#include "base/clock.h"

#include "machine/files.h"
#include "machine/machine.h"

enum { READINGS = 1000, ROUNDS = 5 };

/* The best of some rounds: what disturbs only adds. */
static uint64_t cost_of_a_reading(void)
{
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = pk_clock_ns(), end = start;
        for (int i = 0; i < READINGS; i++)
            end = pk_clock_ns();
        if (end - start < best)
            best = end - start;
    }
    return best / READINGS;
}

void pk_machine_clock(const char *root, struct pk_arena *a, struct pk_clock_facts *c)
{
    struct timespec step = {0};
    clock_getres(CLOCK_MONOTONIC, &step);
    const char *source =
        pk_file_text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource", a);
    *c = (struct pk_clock_facts){
        .source = source ? source : "",
        .resolution_ns = (uint64_t)step.tv_sec * PK_NS_PER_S + (uint64_t)step.tv_nsec,
        .cost_ns = cost_of_a_reading(),
    };
}
