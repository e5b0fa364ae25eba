/* Clock: resolution and cost of reading the monotonic clock, and the gaps between readings, by decade. */
#include "base/clock.h"
#include "base/file.h"
#include "machine/machine.h"
#include "machine/state.h"

#include <math.h>

enum { READINGS = 1000, ROUNDS = 5 };

void pk_machine_clock(const char *root, struct pk_arena *a, struct pk_clock_facts *c)
{
    struct timespec step = {0};
    uint64_t best = UINT64_MAX; /* of some rounds: what disturbs only adds */
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = pk_clock_ns(), end = start;
        for (int i = 0; i < READINGS; i++)
            end = pk_clock_ns();
        best = end - start < best ? end - start : best;
    }
    clock_getres(CLOCK_MONOTONIC, &step);
    const char *source =
        pk_file_text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource", a);
    *c = (struct pk_clock_facts){
        .source = source ? source : "",
        .resolution_ns = (uint64_t)step.tv_sec * PK_NS_PER_S + (uint64_t)step.tv_nsec,
        .cost_ns = best / READINGS,
    };
}

static const uint64_t class_ns[PK_GAP_CLASSES] = {1000, 10000, 100000, PK_NS_PER_MS, 10 * PK_NS_PER_MS};

void pk_noise_gap(struct pk_noise *n, uint64_t gap_ns)
{
    if (gap_ns < class_ns[0])
        return;
    int c = PK_GAP_CLASSES - 1;
    while (gap_ns < class_ns[c])
        c--;
    n->gaps[c]++;
    n->lost_ns += gap_ns;
    if (gap_ns > n->worst_ns)
        n->worst_ns = gap_ns;
}

void pk_noise_probe(uint64_t spin_ns, struct pk_noise *n)
{
    struct pk_noise mine = {0}; /* several threads may have neighbouring ones */
    const uint64_t began = pk_clock_ns();
    uint64_t last = began;
    while (last - began < spin_ns) {
        const uint64_t now = pk_clock_ns();
        pk_noise_gap(&mine, now - last);
        last = now;
    }
    mine.spun_ns = last - began;
    pk_noise_add(n, &mine);
}

void pk_noise_add(struct pk_noise *sum, const struct pk_noise *n)
{
    sum->spun_ns += n->spun_ns;
    sum->lost_ns += n->lost_ns;
    if (n->worst_ns > sum->worst_ns)
        sum->worst_ns = n->worst_ns;
    for (int i = 0; i < PK_GAP_CLASSES; i++)
        sum->gaps[i] += n->gaps[i];
}

double pk_noise_lost(const struct pk_noise *n)
{
    return n->spun_ns ? (double)n->lost_ns / (double)n->spun_ns : NAN;
}
