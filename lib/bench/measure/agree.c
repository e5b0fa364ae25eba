/* Agree: a gather to rank 0, and its word back. */
#include "bench/measure/agree.h"

#include "json/json.h"

enum pk_code pk_agree_on(struct pk_comm *comm, void *p, size_t bytes, struct pk_err *err)
{
    return comm ? pk_comm_bcast(comm, p, bytes, err) : PK_OK;
}

/* One text a rank, and none that is empty is NULL. */
static enum pk_code gather(struct pk_comm *comm, const char *text, struct pk_arena *a, const char ***all,
                           struct pk_err *err)
{
    *all = pk_new_n(a, const char *, comm->processes);
    return pk_comm_gather(comm, text, a, *all, err);
}

static const char *as_text(const struct pk_err *e, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j =
        json_pack("{s:i, s:s, s:s, s:s}", "code", e->code, "what", e->what, "why", e->why, "fix", e->fix);
    return pk_json_text(a, j, PK_JSON_COMPACT);
}

static void read_text(const char *text, unsigned rank, struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *j = json_loads(text, 0, NULL);
    pk_fail(err, (enum pk_code)pk_json_int(j, "code", PK_E_INTERNAL), "rank %u: %s", rank,
            pk_json_str(j, "what", "it failed"));
    pk_why(err, "%s", pk_json_str(j, "why", ""));
    pk_fix(err, "%s", pk_json_str(j, "fix", ""));
}

enum pk_code pk_agree(struct pk_comm *comm, enum pk_code rc, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char **all;
    struct pk_err word = {0}, broken;
    if (!comm)
        return rc;
    if (gather(comm, rc ? as_text(err, &a) : "", &a, &all, &broken)) {
        *err = rc ? *err : broken;
        return err->code;
    }
    for (unsigned i = 0; comm->rank == 0 && i < comm->processes && !word.code; i++)
        if (*all[i])
            read_text(all[i], i, &word);
    if (pk_comm_bcast(comm, &word, sizeof word, &broken)) {
        *err = rc ? *err : broken;
        return err->code;
    }
    if (word.code)
        *err = word;
    return word.code;
}

enum pk_code pk_agree_any(struct pk_comm *comm, bool *flags, size_t n, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char **all;
    char *mine = pk_alloc(&a, n + 1);
    if (!comm)
        return PK_OK;
    for (size_t i = 0; i < n; i++)
        mine[i] = flags[i] ? '1' : '0';
    mine[n] = 0;
    if (gather(comm, mine, &a, &all, err))
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
