/* State: the state of the machine at one moment, read before and after a measurement; and the reasons in it to doubt the measurement.
 *
 * Reading takes 0.14 ms for 2 CPUs (median of 41, the least 0.13 ms; Xeon in a KVM guest, Linux 6.18; `meson test -C build --benchmark
 * counters` measures it), of system calls on the calling thread: never inside a timed region. A value that a machine does not report is
 * NaN or "". Totals count since boot; use their difference. */
#pragma once

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

enum pk_state_text {
    PK_STATE_GOVERNOR, /* as in struct pk_machine */
    PK_STATE_TURBO,
    PK_STATE_SMT, /* "on", "off" */
    PK_STATE_THP,
    PK_STATE_TEXTS
};

enum pk_state_value {
    PK_STATE_LOAD,               /* runnable threads, mean over a minute */
    PK_STATE_FREQUENCY_HZ,       /* the clock, mean over the CPUs */
    PK_STATE_STEAL_NS,           /* total over the CPUs: the hypervisor ran another guest */
    PK_STATE_PRESSURE_CPU_NS,    /* total of the machine: a process waited for a CPU, */
    PK_STATE_PRESSURE_MEMORY_NS, /* for memory, */
    PK_STATE_PRESSURE_IO_NS,     /* for a disk */
    PK_STATE_QUOTA_STOPS,        /* total: the control group's quota was used up */
    PK_STATE_QUOTA_STOPPED_NS,
    PK_STATE_THERMAL_STOPS, /* total over the CPUs: the processor slowed itself down because of heat or power */
    PK_STATE_VALUES
};

struct pk_state {
    uint64_t at_ns; /* pk_clock_ns */
    const char *text[PK_STATE_TEXTS];
    double value[PK_STATE_VALUES];
};

/* cpus: those that measure. Texts are in the arena. */
void pk_state_read(const char *root, const unsigned *cpus, unsigned n, struct pk_arena *a,
                   struct pk_state *s);

/* Noise: the time that a CPU loses to interruptions, measured by a busy loop that reads the clock: gaps that are longer than a reading.
 * Only the time is known, not the cause: timer, other processes, the hypervisor. */
enum { PK_GAP_CLASSES = 5 }; /* from 1 us, 10 us, 0.1 ms, 1 ms, 10 ms */

/* Of one spin, or of several CPUs together. */
struct pk_noise {
    uint64_t spun_ns, lost_ns, worst_ns;
    uint64_t gaps[PK_GAP_CLASSES];
};

/* Spins on the calling thread for this time and adds to *n. */
void pk_noise_probe(uint64_t spin_ns, struct pk_noise *n);

/* One gap between readings, of whatever length: those of a microsecond and more are lost. */
void pk_noise_gap(struct pk_noise *n, uint64_t gap_ns);

void pk_noise_add(struct pk_noise *sum, const struct pk_noise *n);

/* 0 to 1; NaN when nothing was spun. */
double pk_noise_lost(const struct pk_noise *n);

/* Both ends of a measurement. */
struct pk_state_span {
    struct pk_state before, after;
    struct pk_noise noise_before, noise_after; /* spun_ns 0 = not probed */
    unsigned n_cpus;
};

/* {"load": [before, after], "governor": ["performance", "performance"], "steal_ns": [..], "noise_lost": [..],
 * "noise_gaps_1us": [..]}: what is known. The names carry the units; they are those of v_state. */
const char *pk_state_json(const struct pk_state_span *s, struct pk_arena *a);

/* Why the measurement in between is doubtful: words of v_doubt ("stolen"), NULL-terminated, at most PK_DOUBTS. */
enum { PK_DOUBTS = 7 };
size_t pk_state_doubts(const struct pk_state_span *s, const char *words[PK_DOUBTS + 1]);
