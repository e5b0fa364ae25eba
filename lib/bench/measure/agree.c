/* Agree: flags gathered, failures that one rank alone knows of, and samples that begin together. */
#include "bench/measure/agree.h"

enum pk_code pk_agree_on(struct pk_comm *comm, void *p, size_t bytes, struct pk_err *err)
{
    return comm ? pk_comm_bcast(comm, p, bytes, err) : PK_OK;
}

enum pk_code pk_agree_any(struct pk_comm *comm, bool *flags, size_t n, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char *mine = pk_alloc(&a, n + 1);
    if (!comm)
        return PK_OK;
    for (size_t i = 0; i < n; i++)
        mine[i] = flags[i] ? '1' : '0';
    mine[n] = 0;
    const char **all = pk_new_n(&a, const char *, comm->processes);
    if (pk_comm_gather(comm, mine, &a, all, err))
        return err->code;
    for (unsigned r = 0; comm->rank == 0 && r < comm->processes; r++)
        for (size_t i = 0; i < n; i++)
            flags[i] |= all[r][i] == '1';
    return pk_comm_bcast(comm, flags, n * sizeof *flags, err);
}

enum pk_code pk_alone(struct pk_comm *comm, enum pk_code rc)
{
    if (comm && rc)
        comm->broken = true;
    return rc;
}

static enum pk_code sample(void *user, struct pk_sampler *s, pk_iterate_fn *iterate, struct pk_err *err)
{
    const struct pk_line_up *l = user;
    if (pk_comm_barrier(l->comm, err))
        return err->code;
    return l->inner ? l->inner->sample(l->inner->user, s, iterate, err) : iterate(s, err);
}

void pk_line_up(struct pk_line_up *l, struct pk_sampler *s)
{
    if (!s->ctx->comm)
        return;
    *l = (struct pk_line_up){
        .around = {sample, l}, .inner = s->around == &l->around ? l->inner : s->around, .comm = s->ctx->comm};
    s->around = &l->around;
}
