/* Search: every mesh of a number of chips, ranked by time under the memory limit.
 *
 * Axes that the request leaves open take every value that suits the model and the batch: all factorisations of the chips into dp, fsdp,
 * tp, cp and pp; every number of micro-batches that divides a data shard's sequences; every interleaving that divides the blocks of a
 * stage; ZeRO-1 to 3; sequence parallelism wherever there is tp; each kind of recomputation. Without a number of chips, axes that are
 * left open are 1 (zero 3, sp wherever there is tp, recompute none).
 *
 * A request with neither a number of chips nor an axis is one chip. If the step does not fit there, it is PK_PARALLEL_CHIPS_DEFAULT chips; if no
 * mesh of these fits either, it is one chip again, and a note says what is needed. */
#pragma once

#include "model/parallel/mesh.h"

enum { PK_PARALLEL_CANDIDATES_MAX = 1 << 22, PK_PARALLEL_CHIPS_DEFAULT = 8 };

struct pk_mesh_request {
    int64_t chips;                        /* 0: what the axes multiply to */
    struct pk_sweep axis[PK_MESH_AXES_N]; /* n = 0: open */
};

struct pk_parallel_candidate {
    struct pk_mesh mesh;
    double step_ns, memory_bytes;
};

/* Those that fit the memory limit by time, then the others by memory; equal ones in the order of their axes. */
struct pk_parallel_ranking {
    struct pk_parallel_candidate *v;
    size_t n, fitting;
    const char *
        note; /* how many chips were chosen and why, or what is needed; NULL: the request says it. In the arena */
};

/* PK_E_USAGE when no mesh has these axes, with the reason of one; PK_E_NOTHING when none fits the memory limit, with the least number of
 * chips that does, if it is at most PK_PARALLEL_CHIPS_MAX. A request without a number of chips is ranked even if nothing fits. */
enum pk_code pk_parallel_search(const struct pk_parallel_setup *s, const struct pk_mesh_request *r,
                                struct pk_arena *a, struct pk_parallel_ranking *out,
                                struct pk_err *err) PK_MUST_CHECK;

/* How the time of a mesh compares with that of another at the same rates: the interval of the ratio over the corners of the rates. */
struct pk_interval pk_parallel_ratio(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                                     const struct pk_mesh *than);
