/* Options: of `plan parallel`, as rows, and what they say of a plan. Rates that runs measured come between the two: the caller opens stores. */
#pragma once

#include "model/parallel/rates.h"
#include "model/parallel/search.h"
#include "opt/opt.h"

struct pk_parallel_options {
    const char *axis[PK_MESH_AXES_N]; /* as typed; NULL = open */
    const char *chip, *memory, *compute, *network, *precision, *form, *overlap, *attention, *tokens;
    struct pk_texts links;
    int64_t chips, node, batch, seq, prefetch, top;
    double sharded_share;
};
extern const struct pk_opt pk_parallel_option_rows[];

/* Everything but typed and measured rates: these are of the chip's data sheet. */
enum pk_code pk_parallel_setup_read(const struct pk_parallel_options *p, const struct pk_model_shape *shape,
                                    struct pk_arena *a, struct pk_parallel_setup *s,
                                    struct pk_err *err) PK_MUST_CHECK;

/* The axes, and the tokens of table `devices`. */
enum pk_code pk_mesh_request_read(const struct pk_parallel_options *p, struct pk_arena *a,
                                  struct pk_mesh_request *r, struct pk_sweep *tokens,
                                  struct pk_err *err) PK_MUST_CHECK;
