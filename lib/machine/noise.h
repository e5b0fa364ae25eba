/* Noise: what a CPU loses to interruptions, seen by a spin on the clock: gaps between two readings that last longer than a reading.
 * Of what interrupts only the time shows: timer, other processes, the hypervisor. */
#pragma once

#include <stdint.h>

enum { PK_GAP_CLASSES = 5 }; /* from 1 us, 10 us, 0.1 ms, 1 ms, 10 ms */

/* Of one spin, or of several CPUs together. */
struct pk_noise {
    uint64_t spun_ns, lost_ns, worst_ns;
    uint64_t gaps[PK_GAP_CLASSES];
};

/* Spins on the calling thread for so long and adds to *n. */
void pk_noise_probe(uint64_t spin_ns, struct pk_noise *n);

/* One gap between readings, of whatever length: those of a microsecond and more are lost. */
void pk_noise_gap(struct pk_noise *n, uint64_t gap_ns);

void pk_noise_add(struct pk_noise *sum, const struct pk_noise *n);

/* 0 to 1; NaN when nothing was spun. */
double pk_noise_lost(const struct pk_noise *n);
