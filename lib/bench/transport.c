/* Transport: from axes to a comm. */
#include "bench/transport.h"

#include <math.h>

unsigned pk_transport_ranks(const struct pk_case *c, const struct pk_transport_axes *x)
{
    const unsigned n = (unsigned)pk_case_int(c, x->ranks);
    switch (pk_case_int(c, x->transport)) {
    case PK_TRANSPORT_MPI:
        return n;
    case PK_TRANSPORT_NCCL:
        return n > 1 ? n : 0;
    default:
        return 0;
    }
}

const char *pk_transport_skip(const struct pk_case *c, const struct pk_transport_axes *x,
                              enum pk_device_kind kind)
{
    const int64_t transport = pk_case_int(c, x->transport);
    if (transport == PK_TRANSPORT_NCCL && kind != PK_DEVICE_CUDA)
        return "NCCL needs GPUs: --device cuda, or --transport mpi";
    return transport == PK_TRANSPORT_MPI && kind == PK_DEVICE_NULL
               ? "the simulated clock of the null device cannot be shared by processes: --transport link"
               : NULL;
}

static enum pk_code no_ranks(struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "ranks that are processes cannot run in this single process");
    pk_why(err, "`run` starts ranks for its workers, and --profile has no workers");
    return pk_fix(err, "omit --profile, or use --transport link");
}

enum pk_code pk_transport_open(struct pk_ctx *ctx, const struct pk_transport_axes *x, struct pk_comm *own,
                               struct pk_comm **out, struct pk_err *err)
{
    const union pk_value *v = ctx->c->at.v;
    *out = own;
    switch (v[x->transport].i) {
    case PK_TRANSPORT_LINK: {
        const struct pk_comm_options o = {
            .ranks = (unsigned)v[x->ranks].i,
            .link = {.latency_ns = (uint64_t)llround(v[x->latency_us].f * 1e3),
                     .bytes_per_s = (double)v[x->bytes_per_s].i,
                     .jitter = v[x->jitter].f,
                     .seed = ctx->seed},
        };
        return pk_comm_open(own, PK_COMM_LINK, ctx->dev, &o, err);
    }
    case PK_TRANSPORT_SELF:
        return pk_comm_open(own, PK_COMM_SELF, ctx->dev, &(struct pk_comm_options){0}, err);
    case PK_TRANSPORT_NCCL: {
        const unsigned n = (unsigned)v[x->ranks].i;
        if (n > 1 && !ctx->comm)
            return no_ranks(err);
        return pk_comm_open(own, PK_COMM_NCCL, ctx->dev,
                            &(struct pk_comm_options){.ranks = n, .world = ctx->comm}, err);
    }
    default:
        *out = ctx->comm;
        return ctx->comm ? PK_OK : no_ranks(err);
    }
}
