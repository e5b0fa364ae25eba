/* Nccl: ranks with a GPU each. An all-reduce is enqueued in the communication lane after its gradients; the host waits at the end of a
 * step, with a time limit and a check of the library's errors. */
#include "base/text/words.h"
#include "comm/comm.h"

#include "base/clock.h"
#include "comm/transport/flight.h"
#include "comm/transport/nccl_api.h"
#include "device/cuda/cuda.h"

#include <sched.h>
#include <string.h>
#include <time.h>

struct nccl {
    struct pk_nccl_api lib;
    struct pk_nccl_comm *comm; /* NULL once it was aborted */
    struct pk_comm *world;     /* the comm that connects the processes; NULL: a single rank */
    struct pk_flight flight;
};

/* --- what the library says --- */

static enum pk_code refused(const struct pk_comm *c, int rc, const char *what, struct pk_err *err)
{
    const struct nccl *n = c->impl;
    const char *message = n->lib.ncclGetLastError(n->comm);
    const bool words = message && *message;
    if (rc == PK_NCCL_INVALID_USAGE && words && strstr(message, "Duplicate GPU")) {
        pk_fail(err, PK_E_USAGE, "rank %u: NCCL refuses two ranks on one GPU", c->rank);
        pk_why(err, "its message: %s", message);
        return pk_fix(err,
                      "use --transport mpi, which goes through host memory; or give every rank its own GPU "
                      "with CUDA_VISIBLE_DEVICES");
    }
    pk_fail(err, PK_E_IO, "rank %u: %s failed", c->rank, what);
    pk_why(err, "message of NCCL %s: %s%s%s", n->lib.library.version, n->lib.ncclGetErrorString(rc),
           words ? ": " : "", words ? message : "");
    return pk_fix(
        err, rc == PK_NCCL_REMOTE_ERROR
                 ? "another rank has ended: see its message"
                 : "set NCCL_DEBUG=WARN for more messages; perfkit doctor shows which library is in use");
}

/* Between two looks. The end of a group takes 10 to 100 us, and the shortest sleep nearly as long: a thread that waits so long only gives way
 * to NCCL's own, which may be bound to the same core. Finding ranks takes seconds: sleeps grow with the wait, up to a millisecond. */
static void look_again(const struct pk_comm *c, uint64_t waited_ns)
{
    enum { SPIN_NS = 200000, NAP_MOST_NS = 1000000, PART = 8 };
    const uint64_t nap_ns = waited_ns / PART < NAP_MOST_NS ? waited_ns / PART : NAP_MOST_NS;
    if (waited_ns < SPIN_NS) {
        sched_yield();
        return;
    }
    pk_rank_heartbeats_beat(c->heartbeats, c->rank);
    nanosleep(&(struct timespec){.tv_nsec = (long)nap_ns}, NULL);
}

/* The communicator does not block: a call that continues in a thread of NCCL is polled until it ends. */
static enum pk_code finished(const struct pk_comm *c, int rc, const char *what, struct pk_err *err)
{
    const struct nccl *n = c->impl;
    const uint64_t began_ns = pk_clock_ns();
    while (rc == PK_NCCL_IN_PROGRESS) {
        const int refusal = n->lib.ncclCommGetAsyncError(n->comm, &rc);
        if (refusal)
            rc = refusal;
        if (rc != PK_NCCL_IN_PROGRESS)
            break;
        const uint64_t waited_ns = pk_clock_ns() - began_ns;
        if (waited_ns > c->timeout_ns)
            return pk_comm_late(c, what, err);
        look_again(c, waited_ns);
    }
    return rc ? refused(c, rc, what, err) : PK_OK;
}

/* Called while the host waits for the lane: asynchronous errors of NCCL are reported only here. */
static enum pk_code wrong(struct pk_comm *c, struct pk_err *err)
{
    const struct nccl *n = c->impl;
    int rc = 0;
    const int refusal = n->lib.ncclCommGetAsyncError(n->comm, &rc);
    if (refusal)
        rc = refusal;
    return rc && rc != PK_NCCL_IN_PROGRESS ? refused(c, rc, "an all-reduce", err) : PK_OK;
}

/* --- opening --- */

/* What this rank can do without the others. */
static enum pk_code prepare(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err)
{
    struct nccl *n = c->impl;
    if (c->dev->kind != PK_DEVICE_CUDA) {
        pk_fail(err, PK_E_UNAVAILABLE, "NCCL on device %s", c->dev->ops->kind);
        pk_why(err, "NCCL averages arrays in the memory of NVIDIA GPUs");
        return pk_fix(err, "--device cuda, or --transport mpi");
    }
    c->rank = o->world ? o->world->rank : 0;
    c->size = c->processes = o->world ? o->world->size : 1;
    if (o->ranks && o->ranks != c->size) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        pk_fail(err, PK_E_USAGE, "%u ranks were requested and there %s %u", o->ranks,
                pk_predicate(c->size, "are", &a), c->size);
        pk_why(err, "NCCL's ranks are processes with a GPU each, which MPI starts");
        return pk_fix(err, "mpirun -n %u perfkit run ..., or --ranks %u", o->ranks, c->size);
    }
#define SYMBOL(name, result, arguments) {#name, (void (**)(void)) & n->lib.name},
    const struct pk_symbol symbols[] = {PK_NCCL_CALLS(SYMBOL){0}};
#undef SYMBOL
    return pk_library_open(PK_LIB_NCCL, symbols, &c->arena, &n->lib.library, err);
}

/* Rank 0 sends the others its id, or the error of making one: they do not wait in vain. */
static enum pk_code open_communicator(struct pk_comm *c, struct pk_err *err)
{
    struct nccl *n = c->impl;
    struct pk_nccl_config config = {sizeof config, PK_NCCL_CONFIG_MAGIC, PK_NCCL_CONFIG_VERSION, 0};
    struct {
        int rc;
        struct pk_nccl_id id;
    } first = {0};
    if (c->rank == 0)
        first.rc = n->lib.ncclGetUniqueId(&first.id);
    if (n->world && pk_comm_bcast(n->world, &first, sizeof first, err))
        return err->code;
    if (first.rc)
        return refused(c, first.rc, "creating the id by which ranks find each other", err);
    const int rc = n->lib.ncclCommInitRankConfig(&n->comm, (int)c->size, first.id, (int)c->rank, &config);
    return finished(c, rc, "finding the other ranks", err);
}

static void abandon(struct nccl *n)
{
    if (n->comm)
        n->lib.ncclCommAbort(n->comm);
    n->comm = NULL;
}

static enum pk_code open_nccl(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err)
{
    struct nccl *n = pk_new(&c->arena, struct nccl);
    n->world = o->world;
    c->impl = n;
    const bool opened = !prepare(c, o, err);
    if (pk_agree(n->world, opened ? PK_OK : err->code, err)) {
        if (opened)
            pk_library_close(&n->lib.library);
        return err->code;
    }
    pk_flight_init(&n->flight, c);
    if (!open_communicator(c, err))
        return PK_OK;
    abandon(n);
    pk_library_close(&n->lib.library);
    return err->code;
}

/* Finalize ends running operations, destroy frees the rest; a broken communicator would hang in both. */
static void close_nccl(struct pk_comm *c)
{
    struct nccl *n = c->impl;
    struct pk_err err;
    if (!c->broken && finished(c, n->lib.ncclCommFinalize(n->comm), "ending NCCL", &err) == PK_OK) {
        n->lib.ncclCommDestroy(n->comm);
        n->comm = NULL;
    }
    abandon(n);
    pk_flight_free(&n->flight);
    pk_library_close(&n->lib.library);
}

/* --- all-reduces --- */

/* The kernel is enqueued only when the call has ended: the end is recorded after it. */
static enum pk_code start(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    struct nccl *n = c->impl;
    const int type = r->type == PK_BF16 ? PK_NCCL_BFLOAT16 : PK_NCCL_FLOAT32;
    if (pk_flight_begin(&n->flight, r, err))
        return err->code;
    int rc = n->lib.ncclGroupStart();
    for (size_t i = 0; !rc && i < r->n_parts; i++)
        rc = n->lib.ncclAllReduce(r->parts[i].data, r->parts[i].data, r->parts[i].n, type, PK_NCCL_AVG,
                                  n->comm, pk_cuda_stream(c->dev, PK_LANE_COMM));
    const int ended = n->lib.ncclGroupEnd();
    if (finished(c, rc && rc != PK_NCCL_IN_PROGRESS ? rc : ended, "starting an all-reduce", err))
        return err->code;
    return pk_flight_end(&n->flight, r, err);
}

static enum pk_code wait(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    struct nccl *n = c->impl;
    return pk_flight_wait(&n->flight, r, err);
}

/* What NCCL waits for in vain would keep the GPU for ever. */
static enum pk_code settle(struct pk_comm *c, struct pk_err *err)
{
    struct nccl *n = c->impl;
    enum pk_code rc = pk_flight_settle(&n->flight, wrong, err);
    if (rc)
        abandon(n);
    return rc;
}

/* --- what the world does --- */

static enum pk_code barrier(struct pk_comm *c, struct pk_err *err)
{
    const struct nccl *n = c->impl;
    return n->world ? pk_comm_barrier(n->world, err) : PK_OK;
}

static enum pk_code bcast(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err)
{
    const struct nccl *n = c->impl;
    return n->world ? pk_comm_bcast(n->world, p, bytes, err) : PK_OK;
}

static enum pk_code gather(struct pk_comm *c, const char *line, struct pk_arena *a, const char **lines,
                           struct pk_err *err)
{
    const struct nccl *n = c->impl;
    if (n->world)
        return pk_comm_gather(n->world, line, a, lines, err);
    lines[0] = pk_strdup(a, line);
    return PK_OK;
}

static void stop(struct pk_comm *c)
{
    struct nccl *n = c->impl;
    abandon(n);
    if (n->world)
        pk_comm_abort(n->world);
}

const struct pk_comm_ops pk_comm_nccl = {
    .name = "nccl",
    .summary = "processes with a GPU each, by NCCL",
    .open = open_nccl,
    .close = close_nccl,
    .start = start,
    .wait = wait,
    .settle = settle,
    .barrier = barrier,
    .bcast = bcast,
    .gather = gather,
    .abort = stop,
};
