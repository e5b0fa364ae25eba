/* Comm: what is common to all transports: wrappers, their asserts, and the state of being broken. */
#include "comm/comm.h"

#include "base/build.h"
#include "base/clock.h"
#include "base/err.h"
#include "build_config.h"
#include "device/null.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define FOREVER_NS (365 * 86400 * PK_NS_PER_S)

#ifndef PK_HAVE_CUDA
static const char *without_cuda(void)
{
    return pk_feature("cuda")->unavailable;
}

static enum pk_code refuse_cuda(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "ranks over NCCL");
    pk_why(err, "%s", without_cuda());
    return pk_fix(err, "%s", pk_feature("cuda")->enable);
}

const struct pk_comm_ops pk_comm_nccl = {.name = "nccl",
                                         .summary = "processes with a GPU each, by NCCL",
                                         .unavailable = without_cuda,
                                         .open = refuse_cuda};
#endif

const struct pk_comm_ops *const pk_comm_kinds[] = {
    [PK_COMM_SELF] = &pk_comm_self, [PK_COMM_LINK] = &pk_comm_link, [PK_COMM_MPI] = &pk_comm_mpi,
    [PK_COMM_NCCL] = &pk_comm_nccl, [PK_COMM_KINDS] = NULL,
};

const char *pk_comm_unavailable(enum pk_comm_kind kind)
{
    return pk_comm_kinds[kind]->unavailable ? pk_comm_kinds[kind]->unavailable() : NULL;
}

enum pk_code pk_comm_open(struct pk_comm *c, enum pk_comm_kind kind, struct pk_device *dev,
                          const struct pk_comm_options *o, struct pk_err *err)
{
    *c = (struct pk_comm){.ops = pk_comm_kinds[kind],
                          .dev = dev,
                          .heartbeats = o->world ? o->world->heartbeats : o->heartbeats,
                          .timeout_ns = o->timeout_ns ? o->timeout_ns : 60 * PK_NS_PER_S};
    if (!c->ops->open(c, o, err)) {
        pk_assert(c->ops->name && c->ops->summary && c->ops->close && c->ops->start && c->ops->wait);
        pk_assert(c->size >= 1 && c->rank < c->size && c->processes >= 1);
        return PK_OK;
    }
    pk_arena_free(&c->arena);
    c->ops = NULL;
    return err->code;
}

void pk_comm_close(struct pk_comm *c)
{
    if (!c->ops)
        return;
    pk_assert(c->broken || c->pending == 0);
    c->ops->close(c);
    pk_arena_free(&c->arena);
    *c = (struct pk_comm){0};
}

/* --- waiting --- */

/* The kernel wakes a sleeping thread late by its timer slack, by default 50 us, and by the time to schedule it. */
enum { SLACK_NS = 1, SPIN_NS = 20000 };

void pk_pause_until(struct pk_device *dev, uint64_t ns)
{
    pk_assert(dev->kind != PK_DEVICE_CUDA);
    const uint64_t now = pk_device_now_ns(dev);
    if (dev->kind == PK_DEVICE_NULL) {
        if (now < ns)
            pk_null_advance(dev, ns - now);
        return;
    }
    if (now + 2 * SPIN_NS < ns) {
        const uint64_t until = ns - SPIN_NS;
        const struct timespec t = {(time_t)(until / PK_NS_PER_S), (long)(until % PK_NS_PER_S)};
        prctl(PR_SET_TIMERSLACK, SLACK_NS);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL); /* woken early, it spins longer */
    }
    while (pk_device_now_ns(dev) < ns)
        continue;
}

/* Around every call of a transport that may wait for another rank. */
static enum pk_code begin_call(struct pk_comm *c, struct pk_err *err)
{
    if (c->broken) {
        pk_fail(err, PK_E_IO, "the ranks no longer work together");
        return pk_why(err, "an earlier call failed on this rank or on another rank");
    }
    pk_rank_heartbeats_enter(c->heartbeats, c->rank);
    return PK_OK;
}

static enum pk_code end_call(struct pk_comm *c, enum pk_code rc)
{
    pk_rank_heartbeats_leave(c->heartbeats, c->rank);
    c->broken |= rc != PK_OK;
    return rc;
}

enum pk_code pk_comm_start_group(struct pk_comm *c, struct pk_reduce *r, const struct pk_part *parts,
                                 size_t n_parts, enum pk_dtype type, struct pk_err *err)
{
    pk_assert(!r->pending);
    *r = (struct pk_reduce){.parts = parts, .n_parts = n_parts, .one = r->one, .type = type};
    if (begin_call(c, err))
        return err->code;
    for (size_t i = 0; i < n_parts; i++)
        r->bytes += parts[i].n * pk_dtype_bytes(type);
    r->queued_ns = pk_device_now_ns(c->dev);
    enum pk_code rc = end_call(c, c->ops->start(c, r, err));
    r->pending = rc == PK_OK;
    c->pending += r->pending;
    c->reduces += r->pending;
    c->reduced_bytes += r->pending ? r->bytes : 0;
    return rc;
}

enum pk_code pk_comm_start(struct pk_comm *c, struct pk_reduce *r, void *data, size_t n, enum pk_dtype type,
                           struct pk_err *err)
{
    pk_assert(!r->pending);
    r->one = (struct pk_part){data, n};
    return pk_comm_start_group(c, r, &r->one, 1, type, err);
}

enum pk_code pk_comm_wait(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    pk_assert(r->pending);
    if (begin_call(c, err))
        return err->code;
    enum pk_code rc = end_call(c, c->ops->wait(c, r, err));
    r->pending = rc != PK_OK;
    c->pending -= !r->pending;
    return rc;
}

enum pk_code pk_comm_settle(struct pk_comm *c, struct pk_err *err)
{
    pk_assert(c->broken || c->pending == 0);
    return begin_call(c, err) ? err->code : end_call(c, c->ops->settle ? c->ops->settle(c, err) : PK_OK);
}

enum pk_code pk_comm_barrier(struct pk_comm *c, struct pk_err *err)
{
    pk_assert(c->broken || c->pending == 0);
    return begin_call(c, err) ? err->code : end_call(c, c->ops->barrier ? c->ops->barrier(c, err) : PK_OK);
}

enum pk_code pk_comm_bcast(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err)
{
    if (begin_call(c, err))
        return err->code;
    return end_call(c, c->ops->bcast ? c->ops->bcast(c, p, bytes, err) : PK_OK);
}

enum pk_code pk_comm_await(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err)
{
    const uint64_t limit_ns = c->timeout_ns;
    c->timeout_ns = FOREVER_NS;
    enum pk_code rc = pk_comm_bcast(c, p, bytes, err);
    c->timeout_ns = limit_ns;
    return rc;
}

enum pk_code pk_comm_abandoned(const struct pk_comm *c, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *stopped = pk_rank_heartbeats_abandoned(c->heartbeats, &a);
    if (!stopped)
        return PK_OK;
    pk_fail(err, PK_E_TIMEOUT, "a rank gives up: %s", stopped);
    pk_why(err, "it did not continue in time, and the ranks do not wait for it");
    return pk_fix(err,
                  "start the run again; `kill -CONT PID` would continue that process, but not the ranks");
}

enum pk_code pk_comm_gather(struct pk_comm *c, const char *line, struct pk_arena *a, const char **lines,
                            struct pk_err *err)
{
    if (begin_call(c, err))
        return err->code;
    for (unsigned i = 0; i < c->processes; i++)
        lines[i] = NULL;
    if (c->ops->gather)
        return end_call(c, c->ops->gather(c, line, a, lines, err));
    lines[0] = pk_strdup(a, line);
    return end_call(c, PK_OK);
}

void pk_comm_abort(struct pk_comm *c)
{
    c->broken = true;
    if (c->ops->abort)
        c->ops->abort(c);
}

/* --- pk_agree: a gather to rank 0, and its word back --- */

/* Between the parts of an error, none of which has one. Not JSON: what was cut to fit may be no UTF-8. */
#define SEPARATOR "\x1f"

/* What names a rank already is left as it is. */
static void read_text(const char *text, unsigned rank, struct pk_arena *a, struct pk_err *err)
{
    const char *parts[3] = {"it failed", "", ""}, *at = strchr(text, *SEPARATOR);
    const long code = at ? strtol(text, NULL, 10) : PK_E_INTERNAL;
    for (size_t i = 0; at && i < sizeof parts / sizeof *parts; i++, at = strchr(at + 1, *SEPARATOR))
        parts[i] = pk_strndup(a, at + 1, strcspn(at + 1, SEPARATOR));
    pk_fail(err, (enum pk_code)code, "%s", parts[0]);
    if (strncmp(parts[0], "rank ", strlen("rank ")) != 0)
        pk_within(err, "rank %u", rank);
    pk_why(err, "%s", parts[1]);
    pk_fix(err, "%s", parts[2]);
}

enum pk_code pk_agree(struct pk_comm *comm, enum pk_code rc, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err word = {0}, broken;
    if (!comm)
        return rc;
    const char **all = pk_new_n(&a, const char *, comm->processes);
    const char *mine = rc ? pk_printf(&a, "%d" SEPARATOR "%s" SEPARATOR "%s" SEPARATOR "%s", (int)err->code,
                                      err->what, err->why, err->fix)
                          : "";
    if (pk_comm_gather(comm, mine, &a, all, &broken)) {
        *err = rc ? *err : broken;
        return err->code;
    }
    for (unsigned i = 0; comm->rank == 0 && i < comm->processes && !word.code; i++)
        if (*all[i])
            read_text(all[i], i, &a, &word);
    if (pk_comm_bcast(comm, &word, sizeof word, &broken)) {
        *err = rc ? *err : broken;
        return err->code;
    }
    if (word.code)
        *err = word;
    return word.code;
}

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

enum pk_code pk_comm_break_on_error(struct pk_comm *comm, enum pk_code rc)
{
    if (comm && rc)
        comm->broken = true;
    return rc;
}
