/* Launched: a run started by mpirun or srun on every rank. Rank 0 runs the session; the others measure what it requests. */
#include "cmd/run/run.h"

#include "bench/worker/worker.h"

#include <string.h>

static bool names_axis(const struct run_options *o, const char *name)
{
    for (size_t i = 0; i < o->axes.n; i++)
        if (!strncmp(o->axes.v[i], name, strlen(name)) && o->axes.v[i][strlen(name)] == '=')
            return true;
    return false;
}

/* As many as there are, unless something else is asked for. */
void pk_run_take_ranks(struct run *r)
{
    if (r->launched.by && r->probe->ranks && pk_axis_index(r->probe->axes, "ranks") >= 0 &&
        !names_axis(r->o, "ranks"))
        pk_texts_add(&r->o->axes, pk_printf(r->app->arena, "ranks=%u", r->launched.size), r->app->arena);
}

static bool has_ranks(const struct run *r)
{
    for (size_t i = 0; i < r->plan.n; i++)
        if (r->plan.v[i].ranks && !r->plan.v[i].skip)
            return true;
    return false;
}

/* A rank cannot be started again: MPI ends with it. */
void pk_run_bound_invocations(struct run *r)
{
    if (!r->launched.by || !has_ranks(r) || r->o->invocations == 1)
        return;
    r->o->invocations = 1;
    pk_note(r->app,
            "%s has started the ranks, once: one process each; intervals need several, so start it without "
            "%s, or as "
            "often as you want",
            r->launched.by, r->launched.by);
}

/* Why this rank has nothing to measure with the others; NULL = it has, or nobody asked it to. */
static const char *why_absent(const struct run *r)
{
    const char *why = NULL;
    for (size_t i = 0; i < r->plan.n && !why; i++)
        why = r->plan.v[i].ranks ? r->plan.v[i].skip : NULL;
    return pk_plan_to_try(&r->plan) ? NULL : why;
}

/* Rank 0 may wait for it: an exit status other than 0 makes the launcher end them all. */
static enum pk_code stay_away(const struct run *r, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "rank %u of %u has no case to measure", r->launched.rank, r->launched.size);
    pk_why(err, "%s", why);
    return pk_fix(err, "start every rank with the same command line and environment");
}

enum pk_code pk_run_follow(struct run *r, struct pk_err *err)
{
    r->app->mute = true;
    r->o->resume = false; /* rank 0 knows what is missing */
    if (r->o->once)
        return PK_OK;
    if (pk_open_store(r->app, ":memory:", PK_STORE_WRITE, &r->store, err))
        return err->code;
    enum pk_code rc = pk_run_prepare(r, err);
    pk_store_close(r->store);
    const struct pk_worker_io io = {
        .in_fd = -1, .wire_fd = -1, .join = true, .expects = pk_plan_expects, .user = &r->plan};
    if (rc || r->o->dry_run)
        return rc;
    if (has_ranks(r))
        return pk_worker_serve(&io, err);
    const char *why = why_absent(r);
    return why ? stay_away(r, why, err) : PK_OK;
}
