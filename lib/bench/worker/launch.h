/* Launch: starts ranks. Either a launcher (mpirun, srun) has started them, or a worker becomes mpiexec and starts its own. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

enum { PK_RANKS_PER_CPU = 16 };

struct pk_launched {
    const char *by; /* "mpirun"; NULL = by no launcher: this process is alone */
    unsigned rank, size;
};
/* By the environment that launchers of Open MPI, MPICH and its kin, and Slurm leave. */
struct pk_launched pk_launched(void);

/* Why so many ranks cannot measure here; NULL = they can, as far as is known before they are started. In the arena. */
const char *pk_launch_refused(unsigned ranks, struct pk_arena *a);
/* What has to be said of so many ranks, of so many threads each (0 = their share), on these CPUs ("0-3"; NULL = all that are ours); NULL =
 * nothing. In the arena. */
const char *pk_launch_doubt(unsigned ranks, unsigned threads, const char *cpus, struct pk_arena *a);

/* This process becomes mpiexec, which starts `ranks` times this program as `worker --join`, of which rank 0 has our stdin, and in wire_fd a way to
 * the parent; roll (or NULL) is what rank 0 is told of one. As root and with more ranks than cores too. Returns only when that failed. */
enum pk_code pk_launch_become(unsigned ranks, int wire_fd, const char *roll,
                              struct pk_err *err) PK_MUST_CHECK;
