/* Transport: the axes of an experiment that say which ranks measure it, and the comm that they name.
 *
 * The row of `ranks` is the experiment's own, because what it says of itself differs; the choices of `transport` are PK_TRANSPORTS in this
 * order. */
#pragma once

#include "bench/probe.h"

enum pk_transport { PK_TRANSPORT_LINK, PK_TRANSPORT_SELF, PK_TRANSPORT_MPI, PK_TRANSPORT_NCCL };
#define PK_TRANSPORTS                                                                                        \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        "link", "self", "mpi", "nccl", NULL                                                                  \
    }

/* Rows of axes that say the same in every experiment. on_link: the experiment's hook that is true for PK_TRANSPORT_LINK. */
#define PK_AXIS_TRANSPORT                                                                                    \
    {                                                                                                        \
        "transport", .type = PK_AXIS_ENUM, .choices = PK_TRANSPORTS, .def = "link", .born = "link",          \
                     .help = "kind of ranks: link: virtual ranks on a link of given speed; self: a single "  \
                             "rank; mpi: processes over MPI; nccl: processes with a GPU each, over NCCL"     \
    }
#define PK_AXIS_LINK_LATENCY(on_link)                                                                        \
    {                                                                                                        \
        "link_latency_us", .type = PK_AXIS_FLOAT, .unit = "us", .min = 0, .max = 1e9,                        \
                           .also = "latency launch", .def = "20", .born = "20", .applies = on_link,          \
                           .implies = "transport=link",                                                      \
                           .help = "fixed time of an all-reduce on the virtual link"                         \
    }
#define PK_AXIS_LINK_BANDWIDTH(on_link)                                                                      \
    {                                                                                                        \
        "link_bytes_per_s", .type = PK_AXIS_RATE, .unit = "bytes/s", .min = 1, .max = 1e15,                  \
                            .also = "bandwidth link_bandwidth", .def = "10GB", .born = "10GB",               \
                            .applies = on_link, .implies = "transport=link",                                 \
                            .help = "bandwidth of the virtual link per second (busbw): 25GB is 200 Gbit/s"   \
    }
#define PK_AXIS_LINK_JITTER(on_link)                                                                         \
    {                                                                                                        \
        "link_jitter", .type = PK_AXIS_FLOAT, .min = 0, .max = 1, .also = "jitter", .def = "0", .born = "0", \
                       .applies = on_link, .implies = "transport=link",                                      \
                       .help = "standard deviation of the logarithm of all-reduce times on the virtual link" \
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
