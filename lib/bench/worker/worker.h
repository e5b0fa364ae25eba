/* Worker: the process that measures. `perfkit worker` reads measure requests on stdin and answers on
 * PERFKIT_WIRE_FD. */
#pragma once

#include "bench/plan.h"

/* What a request of pass `calibration` can be of besides ceilings and trials (bench/trial.h): the machine around a case that another
 * program measures. Variant "before", then "after": the answer to that has the notes of struct pk_environment. */
#define PK_SURROUNDINGS "surroundings"

struct pk_worker_io {
    int in_fd, wire_fd; /* requests and answers: of rank 0 alone, where there are ranks */
    bool join;          /* be one of the ranks that a launcher has started */
    const char *roll;   /* of rank 0: see pk_rank_group_open */
    const struct pk_plan
        *plan; /* of a rank that was started with the whole command: the cases it expects; NULL = any */
};

/* Serves requests until quit or end of input. Opens the device of the first request and keeps it. Returns
 * PK_OK, or the reason it could not go on (which the parent has been told as well, when it still listens). A rank that returns an error
 * has left the others waiting: its process has to end with a status that its launcher takes for a failure. */
enum pk_code pk_worker_serve(const struct pk_worker_io *io, struct pk_err *err) PK_MUST_CHECK;
