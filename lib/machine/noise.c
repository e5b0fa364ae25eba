/* Noise: the spin, and gaps by decade. */
#include "machine/noise.h"

#include "base/clock.h"

#include <math.h>

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
