/* Limits: from how many tokens on arithmetic hides the transfers of a mesh, and how many chips a number of tokens needs. */
#pragma once

#include "model/parallel/mesh.h"

/* --- arithmetic against transfers --- */

enum pk_parallel_scope { PK_SCOPE_FORWARD, PK_SCOPE_STEP };

struct pk_balance {
    double math_ns, axis_ns[PK_PARALLEL_GROUPS]; /* by group; only those of time are set */
    double transfers_ns;                         /* their sum, or the longest */
    enum pk_parallel_group
        binds; /* PK_PARALLEL_MATH, or the axis whose transfers take longest when they take longer */
    /* Tokens of a step from which on arithmetic takes at least as long as transfers: of a data shard, of a chip, of all. Infinite where
     * transfers grow faster than arithmetic, 0 where there are none. */
    double shard_tokens, chip_tokens, batch_tokens;
};

/* From evaluated values: the same mesh at the rates that they hold. */
struct pk_balance pk_parallel_balance(const struct pk_parallel_values *v, enum pk_parallel_scope scope);

/* --- chips that a number of tokens needs --- */

struct pk_chips_needed {
    double tokens;       /* of a micro-batch on a data shard */
    double shards;       /* the least fsdp; 0: no number of shards suffices */
    double chips;        /* fsdp times the mesh's other axes */
    double memory_bytes; /* of a chip then; with shards = 0 what no sharding divides */
};

/* The other axes are m's; its fsdp is not used. */
struct pk_chips_needed pk_parallel_chips_needed(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                                                double tokens);

/* The most tokens of a micro-batch on a data shard for which any number of shards suffices; 0 when not even one token does. */
double pk_parallel_most_tokens(const struct pk_parallel_setup *s, const struct pk_mesh *m);
