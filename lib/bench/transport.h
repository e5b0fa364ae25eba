/* Transport: the axes of an experiment that say which ranks measure it, and the comm that they name.
 *
 * The rows of these axes are the experiment's own, because what they say of themselves differs; the choices of `transport` are
 * PK_TRANSPORTS in this order. */
#pragma once

#include "bench/probe.h"

enum pk_transport { PK_TRANSPORT_LINK, PK_TRANSPORT_SELF, PK_TRANSPORT_MPI, PK_TRANSPORT_NCCL };
#define PK_TRANSPORTS                                                                                        \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        "link", "self", "mpi", "nccl", NULL                                                                  \
    }

/* Numbers of the axes. */
struct pk_transport_axes {
    unsigned transport, ranks, latency_us, bytes_per_s, jitter;
};

/* The hook `ranks`. A single rank needs no MPI for NCCL. */
unsigned pk_transport_ranks(const struct pk_case *c, const struct pk_transport_axes *x);
/* For the hook `skip`: NULL, or why this transport does not go with the kind of device. */
const char *pk_transport_skip(const struct pk_case *c, const struct pk_transport_axes *x,
                              enum pk_device_kind kind);
/* For setup: *out is *own, opened for this case, or the comm of ctx. Ranks call it together. Close *own in teardown, in any case. */
enum pk_code pk_transport_open(struct pk_ctx *ctx, const struct pk_transport_axes *x, struct pk_comm *own,
                               struct pk_comm **out, struct pk_err *err) PK_MUST_CHECK;
