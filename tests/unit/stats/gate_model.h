/* Gate model: a machine that runs pairs of processes, as noisy as told, and a gate that measures on it until it has
 * decided.
 *
 * What a process says, in logs: the effect (new side) + what the process drew (Student t with 5 degrees of freedom) +
 * where the machine has drifted to + what lies inside the process + what disturbed it. */
#pragma once

#include "base/rng.h"
#include "stats/verdict/verdict.h"

struct machine {
    const char *name;
    double cv;        /* between processes */
    double cv_spread; /* sd of ln(cv) over the rows */
    double inside;    /* of a process's median, from what its samples do */
    double
        drift; /* of a slowly wandering level (AR(1), 0.9 a slot), and half the largest ramp, in units of cv */
    double memory;    /* lag-1 correlation between successive processes */
    double disturbed; /* share of processes with a neighbour: + Exp(15 %) */
    double beat;      /* every fourth process of a row takes exp(beat) times as long */
    bool normal;      /* draws are normal, not Student's t */
    double slow[2];   /* share of processes of base and of new in a mode of slow_size (in logs) */
    double slow_size;
    double slow_mode; /* share of processes in a mode of + 15 %, in every fifth row */
};

enum { MOST_ROWS = 50, MOST_PAIRS = 64 };

struct tally {
    double gates, rows, red, glad, slower, faster, same, undecided, unstable, pairs;
    double hidden; /* rows "same" although slow processes were seen on one side alone */
};

/* `gates` gates of `rows` rows; the first `affected` rows take exp(effect) times as long on the new side. Gates with a
 * false "slower" count as red, with a false "faster" as glad; rows and their verdicts are those of the affected rows, of
 * all when there are none; pairs are those of all rows. */
struct tally run_gates(const struct machine *m, uint64_t seed, int gates, int rows, int affected,
                       double effect, const struct pk_rule *rule);
