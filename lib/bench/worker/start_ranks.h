/* Start ranks: either a launcher (mpirun, srun) has started them, or a worker becomes mpiexec and starts its own. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

enum { PK_RANKS_PER_CPU = 16 };

struct pk_launcher {
    const char *by; /* "mpirun"; NULL = no launcher: this process is alone */
    unsigned rank, size;
};
/* From the environment variables that launchers of Open MPI, MPICH and its derivatives, and Slurm set. */
struct pk_launcher pk_launcher_of_process(void);

/* Why this number of ranks cannot measure here; NULL = it can, as far as is known before they are started. In the arena. */
const char *pk_launch_refused(unsigned ranks, struct pk_arena *a);
/* A warning about this number of ranks with this number of threads each (0 = their share) on these CPUs ("0-3"; NULL = all allowed
 * CPUs); NULL = none. In the arena. */
const char *pk_launch_doubt(unsigned ranks, unsigned threads, const char *cpus, struct pk_arena *a);

/* This process becomes mpiexec, which starts this program `ranks` times as `worker --join`. Rank 0 gets our stdin, wire_fd to reach the
 * parent, and the path `heartbeats` (or NULL). It also works as root and with more ranks than cores. Returns only on failure. */
enum pk_code pk_launch_become(unsigned ranks, int wire_fd, const char *heartbeats,
                              struct pk_err *err) PK_MUST_CHECK;
