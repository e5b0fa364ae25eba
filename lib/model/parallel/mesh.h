/* Mesh: how the chips are arranged, what else is chosen with them, and what they compute.
 *
 * The axes are rows (opt/axis.h), so that each has a range, a help text, and may be a list that the search goes through. */
#pragma once

#include "model/shape/shape.h"
#include "model/terms/terms.h"
#include "opt/axis.h"
#include "stats/stats.h"

enum { PK_PARALLEL_CHIPS_MAX = 16384 };

/* name (the option and the column), type, least, most, meaning */
// clang-format off
#define PK_MESH_AXES(row)                                                                                        \
    row(dp, INT, 1, PK_PARALLEL_CHIPS_MAX, "replicas: each has all states (data parallel; HSDP with fsdp)")      \
    row(fsdp, INT, 1, PK_PARALLEL_CHIPS_MAX, "data shards that divide the states as --zero says")                \
    row(tp, INT, 1, PK_PARALLEL_CHIPS_MAX, "chips that divide each matrix (tensor parallel)")                    \
    row(cp, INT, 1, PK_PARALLEL_CHIPS_MAX, "chips that divide each sequence (context parallel)")                 \
    row(pp, INT, 1, PK_PARALLEL_CHIPS_MAX, "stages that divide the blocks (pipeline parallel)")                  \
    row(micro, INT, 1, 1 << 20, "micro-batches of a step")                                                       \
    row(interleave, INT, 1, 1024, "parts of a stage in an interleaved pipeline; 1: plain 1F1B")                  \
    row(zero, INT, 0, 3, "ZeRO stage: 0 no states, 1 optimizer, 2 and gradients, 3 and weights are sharded")     \
    row(sp, BOOL, 0, 1, "on or off; sequence parallelism: tp also divides the activations between matrices")     \
    row(recompute, ENUM, 0, 2, "in backward: none, selective (norms and scores) or block")
// clang-format on

struct pk_mesh {
#define PK_MESH_FIELD(name, ...) int32_t name;
    PK_MESH_AXES(PK_MESH_FIELD)
};
enum {
#define PK_MESH_INDEX(name, ...) PK_MESH_##name,
    PK_MESH_AXES(PK_MESH_INDEX) PK_MESH_AXES_N,
    PK_MESH_PRODUCT_AXES = PK_MESH_micro /* those before it multiply to the number of chips */
};
extern const struct pk_axis pk_mesh_axes[PK_MESH_AXES_N + 1];
enum { PK_RECOMPUTE_NONE, PK_RECOMPUTE_SELECTIVE, PK_RECOMPUTE_BLOCK };
extern const char *const pk_recompute_names[]; /* ends with NULL */

static inline int32_t *pk_mesh_value(struct pk_mesh *m, size_t axis)
{
    return (int32_t *)m + axis;
}

int64_t pk_mesh_chips(const struct pk_mesh *m);
/* "fsdp=16 tp=4 zero=3": what differs from a single chip. In `a`. */
const char *pk_mesh_text(const struct pk_mesh *m, struct pk_arena *a);

/* Bytes of a parameter, of a value, of what is sent. */
struct pk_precision {
    const char *name, *meaning;
    double weight, gradient, optimizer, value, reduce;
};
extern const struct pk_precision pk_precisions[]; /* ends where name is NULL */

/* A rate with its 95 % interval (equal to the value where none is known) and its source. */
enum pk_parallel_rate_key {
    PK_RATE_COMPUTE,
    PK_RATE_LINK,
    PK_RATE_NETWORK,
    PK_RATE_LAUNCH,
    PK_PARALLEL_RATES
};
struct pk_parallel_rate {
    double value;
    struct pk_interval ci;
    const char *source; /* NULL: not given */
};

/* What is planned, except the mesh. */
struct pk_parallel_setup {
    struct pk_model_shape shape;
    const struct pk_precision *precision;
    int64_t batch, seq; /* sequences of a step, tokens of one */
    bool book, sum_axes, hidden, scores;
    int64_t prefetch;
    double sharded_share;
    double memory_bytes; /* limit of a chip */
    int64_t node;
    int64_t links[PK_MESH_PRODUCT_AXES];
    struct pk_parallel_rate rate[PK_PARALLEL_RATES];
};

/* The reason why a mesh does not suit the model and the batch: "tp=3 does not divide heads=32"; NULL when it does. In `a`, which may be
 * NULL: then any text. */
const char *pk_mesh_problem(const struct pk_parallel_setup *s, const struct pk_mesh *m, struct pk_arena *a);

/* The inputs of the last stage; pk_parallel_evaluate computes the rest. */
void pk_parallel_fill(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                      struct pk_parallel_values *v);

/* Evaluates the last stage to `time` and the stage that needs more memory to `memory` (the same values with one stage). */
void pk_parallel_mesh(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                      struct pk_parallel_values *time, struct pk_parallel_values *memory);

/* The corners of the rates' intervals: each rate at one of its ends, by a bit of the corner's number. Times and thresholds are monotonic
 * in each rate, so that the corners hold their extremes. Evaluates the last stage there. */
enum { PK_PARALLEL_CORNERS = 1 << PK_PARALLEL_RATES };
void pk_parallel_corner(const struct pk_parallel_setup *s, const struct pk_mesh *m, unsigned corner,
                        struct pk_parallel_values *v);
/* Whether a corner is one with a smaller number again, because the interval of a rate is a point. */
bool pk_parallel_corner_repeats(const struct pk_parallel_setup *s, unsigned corner);
