/* Worker: the process that measures. `perfkit worker` reads measure requests on stdin and replies on
 * PERFKIT_WIRE_FD. */
#pragma once

#include "bench/worker/request.h"

/* Whether this process was started to measure case *c. PK_E_USAGE, with the reason. */
typedef enum pk_code pk_expects_fn(const void *user, const struct pk_request *r, const struct pk_case *c,
                                   struct pk_arena *a, struct pk_err *err);

struct pk_worker_io {
    int in_fd, wire_fd;     /* requests and replies: of rank 0 alone, where there are ranks */
    bool join;              /* be one of the ranks that a launcher has started */
    const char *heartbeats; /* of rank 0: see pk_rank_group_open */
    pk_expects_fn *expects; /* of a rank that was started with the whole command; NULL = any case */
    const void *user;
    uint64_t timeout_ns; /* of a rank that was started with the whole command: see pk_rank_group_open */
};

/* Serves requests until quit or end of input. Opens the device of the first request and keeps it. Returns
 * PK_OK, or the reason it could not go on (which is also sent to the parent, if it still listens). A rank that returns an error
 * has left the others waiting: its process has to end with a status that its launcher takes for a failure. */
enum pk_code pk_worker_serve(const struct pk_worker_io *io, struct pk_err *err) PK_MUST_CHECK;
