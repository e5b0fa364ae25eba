/* Bucket options: of `plan bucket`, as rows. */
#include "model/bucket/bucket_advice.h"

#include <stddef.h>

enum { RANKS_MAX = 1 << 20 };

#define O(member) offsetof(struct pk_bucket_options, member)

static const char *const dtypes[] = {"fp32", "bf16", NULL};

const struct pk_opt pk_bucket_option_rows[] = {
    {"tensors", .type = PK_OPT_TEXT, .offset = O(tensors), .arg = "FILE",
     .group = "plan bucket: what is averaged",
     .help = "file with your own model: a name and a number of elements per line"},
    {"dtype", .type = PK_OPT_CHOICE, .offset = O(dtype), .arg = "TYPE", .choices = dtypes, .def = "fp32",
     .help = "type of the gradients"},
    {"backward", .type = PK_OPT_DURATION, .offset = O(backward_ns), .arg = "TIME", .min = 1, .max = 1e15,
     .def = "100ms", .help = "time of the backward pass without communication"},
    {"ranks", .type = PK_OPT_TEXT, .offset = O(ranks), .arg = "N,N", .def = "2,8,64",
     .group = "plan bucket: who averages",
     .help = "numbers of ranks, such as 2,8 or 2:64:*2; one table row for each"},
    {"hop", .type = PK_OPT_DURATION, .offset = O(hop_ns), .arg = "TIME", .max = 1e12, .def = "0",
     .help = "additional time for each of the 2(N-1) steps of a ring"},
    {0},
};

static const struct pk_axis ranks_axis = {"ranks",  .type = PK_AXIS_INT, .unit = "ranks",
                                          .min = 2, .max = RANKS_MAX,    .def = "2"};

enum pk_code pk_bucket_ranks(const struct pk_bucket_options *o, struct pk_arena *a, struct pk_sweep *ranks,
                             struct pk_err *err)
{
    if (!pk_sweep_parse(&ranks_axis, o->ranks, a, ranks, err)) /* "2,8,64", "2:64:*2" */
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--ranks %.300s", o->ranks);
    pk_why(err, "a number of ranks is an integer from 2 to %d", RANKS_MAX);
    return pk_fix(err, "--ranks 2,8,64 or --ranks 2:64:*2");
}
