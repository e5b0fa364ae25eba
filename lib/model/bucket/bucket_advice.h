/* Bucket advice: the best bucket size for a model on a given number of ranks and a given link, compared with a simulation on a virtual
 * link. */
#pragma once

#include "comm/bucket_model.h"
#include "comm/comm.h"
#include "model/gradients.h"
#include "opt/axis.h"
#include "opt/opt.h"
#include "out/out.h"

struct pk_bucket_inputs {
    const struct pk_gradients *gradients;
    enum pk_dtype type;
    uint64_t backward_ns; /* > 0 */
    unsigned ranks;
    struct pk_virtual_link link; /* without jitter */
};

enum pk_bucket_choices {
    PK_CHOOSE_PLAYED,  /* the best of many caps, simulated with the model's tensors */
    PK_CHOOSE_EQUAL,   /* the optimum for equal buckets */
    PK_CHOOSE_REPORT,  /* sqrt(s o w) */
    PK_CHOOSE_FLAT,    /* one bucket */
    PK_CHOOSE_OVERLAP, /* one a tensor */
    PK_BUCKET_CHOICES
};

struct pk_bucket_choice {
    double bytes; /* the cap */
    struct pk_buckets buckets;
    double exposed_ns;     /* exposed communication, predicted by the model */
    uint64_t simulated_ns; /* the same, from a step on the null device with a virtual link */
};

struct pk_bucket_advice {
    struct pk_bucket_rates rates; /* of equal buckets */
    struct pk_bucket_optimum optimum;
    struct pk_bucket_choice choice[PK_BUCKET_CHOICES];
    double ideal_ns; /* exposed communication of the optimal division */
    size_t ideal_buckets;
};

/* Everything in the arena. Returns the error when the virtual link cannot be opened. */
enum pk_code pk_bucket_advise(const struct pk_bucket_inputs *q, struct pk_arena *a,
                              struct pk_bucket_advice *out, struct pk_err *err) PK_MUST_CHECK;

/* Tables bucket and terms of n inputs, with `explained` also explain: every value with its formula. Texts in `a`. */
void pk_bucket_print(struct pk_out *out, const struct pk_bucket_inputs *q, const struct pk_bucket_advice *v,
                     size_t n, bool explained, struct pk_arena *a);

/* --- options: bucket_options.c --- */

struct pk_bucket_options {
    const char *tensors, *dtype, *ranks;
    int64_t backward_ns, hop_ns;
};

extern const struct pk_opt pk_bucket_option_rows[];

/* The numbers of ranks. */
enum pk_code pk_bucket_ranks(const struct pk_bucket_options *o, struct pk_arena *a, struct pk_sweep *ranks,
                             struct pk_err *err) PK_MUST_CHECK;
