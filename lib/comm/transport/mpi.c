/* Mpi: ranks that are processes. All calls of MPI are made by one thread, which is inside an all-reduce while this one computes. */
#include "comm/comm.h"

#include "base/clock.h"
#include "comm/transport/engine.h"
#include "comm/transport/mpi_module.h"
#include "comm/transport/staged.h"

#include <string.h>

#define STUCK_NS (100 * PK_NS_PER_MS)
enum { ALL_REDUCES = 4096 }; /* that can be under way: the largest model has 327 tensors */

struct reduce_job {
    struct pk_job job; /* first: a job is its reduce_job */
    struct mpi *m;
    const struct pk_reduce *r;
};

/* A blocking call, and what it needs. */
struct mpi_call {
    struct pk_job job;
    struct mpi *m;
    enum { NOTHING, INIT, FINALIZE, BARRIER, BCAST, GATHER_SIZES, GATHER } kind;
};
struct bytes {
    const void *mine;
    void *p;
    size_t n;
    int *sizes, *offsets;
};

struct mpi {
    const struct pk_mpi_module *lib;
    struct pk_engine engine;
    struct pk_comm *c;
    int rank, size;
    struct reduce_job ring[ALL_REDUCES]; /* of the all-reduce numbered n: ring[n % ALL_REDUCES] */
    uint64_t posted;
    struct pk_staged *staged; /* of a device whose lanes are queues: made by the first all-reduce */
    struct mpi_call *call;    /* the last blocking one */
    struct bytes bytes;
    struct pk_arena gathered; /* of the last gather */
};

/* --- one blocking call --- */

static int run_call(void *user)
{
    const struct mpi_call *c = user;
    struct mpi *m = c->m;
    const struct bytes *b = &m->bytes;
    switch (c->kind) {
    case NOTHING:
        return 0;
    case INIT:
        return m->lib->init(&m->rank, &m->size);
    case FINALIZE:
        return m->lib->finalize();
    case BARRIER:
        return m->lib->barrier();
    case BCAST:
        return m->lib->bcast(b->p, b->n);
    case GATHER_SIZES:
        return m->lib->gather_sizes((int)b->n, b->sizes);
    case GATHER:
        return m->lib->gather(b->mine, (int)b->n, b->p, b->sizes, b->offsets);
    }
    return 0;
}

static int average(void *user, void *data, size_t n, enum pk_dtype type)
{
    const struct mpi *m = user;
    const int rc = m->lib->sum(data, n, type == PK_BF16);
    if (!rc) {
        float by = (float)m->size;
        float *wide = data;
        uint16_t *narrow = data;
        if (type == PK_FP32)
            for (size_t i = 0; i < n; i++)
                wide[i] /= by;
        else
            for (size_t i = 0; i < n; i++)
                narrow[i] = pk_bf16_of_float(pk_bf16_to_float(narrow[i]) / by);
    }
    return rc;
}

/* MPI has no call for several arrays: one after the other. */
static int call_reduce(void *user)
{
    struct reduce_job *j = user;
    const struct pk_reduce *r = j->r;
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_parts; i++)
        rc = average(j->m, r->parts[i].data, r->parts[i].n, r->type);
    return rc;
}

/* --- waiting for it --- */

static enum pk_code refused(const struct mpi *m, const char *what, int rc, struct pk_err *err)
{
    char words[256];
    m->lib->text(rc, words, sizeof words);
    pk_fail(err, PK_E_IO, "rank %d: %s failed", m->rank, what);
    pk_why(err, "message of MPI: %s", words);
    return pk_fix(err, "run perfkit doctor, and read the output of mpiexec");
}

/* How often a rank that waits for longer looks whether the run is stopped. */
#define LOOK_NS (2 * PK_NS_PER_S)

static enum pk_code await(struct mpi *m, struct pk_job *j, const char *what, struct pk_err *err)
{
    const uint64_t began_ns = pk_clock_ns(), deadline_ns = began_ns + m->c->timeout_ns;
    uint64_t look_ns = began_ns + LOOK_NS;
    while (!pk_job_over(j)) {
        const uint64_t now_ns = pk_clock_ns(), beat_ns = now_ns + PK_HEARTBEAT_NS;
        if (now_ns >= deadline_ns)
            return pk_comm_late(m->c, what, err);
        if (now_ns >= look_ns && pk_comm_abandoned(m->c, err))
            return err->code;
        look_ns = now_ns >= look_ns ? now_ns + LOOK_NS : look_ns;
        pk_rank_heartbeats_beat(m->c->heartbeats, m->c->rank);
        pk_engine_wait(&m->engine, j, beat_ns < deadline_ns ? beat_ns : deadline_ns);
    }
    return j->rc ? refused(m, what, j->rc, err) : PK_OK;
}

/* A job that is not over in time is the engine's for good: so it is not on this stack, and no second one has its place. */
static enum pk_code make_call(struct mpi *m, int kind, const char *what, struct pk_err *err)
{
    if (!m->call || !pk_job_over(&m->call->job))
        m->call = pk_new(&m->c->arena, struct mpi_call);
    m->call->m = m;
    m->call->kind = kind;
    m->call->job.call = run_call;
    m->call->job.user = m->call;
    pk_engine_post(&m->engine, &m->call->job);
    return await(m, &m->call->job, what, err);
}

/* --- what the comm calls --- */

/* A thread that is stuck in a call cannot be ended and still has this memory, which stays; the process is about to end. */
static void end_thread(struct mpi *m, bool stuck)
{
    if (stuck)
        m->c->arena = (struct pk_arena){0};
    else
        pk_engine_stop(&m->engine);
}

static enum pk_code open_mpi(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err)
{
    struct mpi *m = pk_new(&c->arena, struct mpi);
    m->c = c;
    if (pk_mpi_load(&m->lib, err) || pk_engine_start(&m->engine, err))
        return err->code;
    if (make_call(m, INIT, "starting MPI", err)) {
        end_thread(m, err->code == PK_E_TIMEOUT);
        return err->code;
    }
    if (o->ranks && o->ranks != (unsigned)m->size) {
        struct pk_err second;
        pk_fail(err, PK_E_USAGE, "%u ranks were requested and %d were started", o->ranks, m->size);
        pk_why(err, "under mpirun or srun the launcher sets the number of ranks");
        pk_fix(err, "omit the number, or start the same number: mpirun -n %u", o->ranks);
        end_thread(m, make_call(m, FINALIZE, "ending MPI", &second) == PK_E_TIMEOUT);
        return err->code;
    }
    for (size_t i = 0; i < ALL_REDUCES; i++)
        m->ring[i].job.over = true;
    char library[128] = "";
    m->lib->library(library, sizeof library);
    c->library = pk_strndup(&c->arena, library, strcspn(library, ",\n"));
    c->impl = m;
    c->rank = (unsigned)m->rank;
    c->size = c->processes = (unsigned)m->size;
    return PK_OK;
}

static void close_mpi(struct pk_comm *c)
{
    struct mpi *m = c->impl;
    struct pk_err err;
    if (m->staged)
        pk_staged_close(m->staged);
    if (c->broken)
        c->timeout_ns = STUCK_NS;
    const bool stuck = make_call(m, c->broken ? NOTHING : FINALIZE, "ending MPI", &err) == PK_E_TIMEOUT;
    end_thread(m, stuck);
    if (!stuck)
        pk_arena_free(&m->gathered);
}

static struct reduce_job *find(struct mpi *m, const struct pk_reduce *r)
{
    return &m->ring[r->number % ALL_REDUCES];
}

static enum pk_code start(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    struct mpi *m = c->impl;
    if (pk_lanes_queue(c->dev)) {
        if (!m->staged) { /* in the first step, which is not a measured one */
            const bool timed = pk_timed_region(false);
            struct pk_staged *s = pk_new(&c->arena, struct pk_staged);
            m->staged = pk_staged_open(s, c, &m->engine, average, m, err) ? NULL : s;
            pk_timed_region(timed);
        }
        return m->staged ? pk_staged_start(m->staged, r, err) : err->code;
    }
    r->number = m->posted++;
    struct reduce_job *j = find(m, r);
    if (!pk_job_over(&j->job) && await(m, &j->job, "an all-reduce", err))
        return err->code;
    j->m = m;
    j->r = r;
    j->job.call = call_reduce;
    j->job.user = j;
    pk_engine_post(&m->engine, &j->job);
    return PK_OK;
}

static enum pk_code wait(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err)
{
    struct mpi *m = c->impl;
    if (m->staged)
        return pk_flight_wait(&m->staged->flight, r, err);
    struct pk_job *j = &find(m, r)->job;
    if (await(m, j, "an all-reduce", err))
        return err->code;
    r->began_ns = j->began_ns;
    r->ended_ns = j->ended_ns;
    return PK_OK;
}

static enum pk_code wrong(struct pk_comm *c, struct pk_err *err)
{
    const struct mpi *m = c->impl;
    const int rc = atomic_load(&m->staged->rc);
    if (atomic_load(&m->staged->late))
        return pk_comm_late(c, "an all-reduce", err);
    return rc ? refused(m, "an all-reduce", rc, err) : PK_OK;
}

static enum pk_code settle(struct pk_comm *c, struct pk_err *err)
{
    struct mpi *m = c->impl;
    return m->staged ? pk_flight_settle(&m->staged->flight, wrong, err) : PK_OK;
}

static enum pk_code barrier(struct pk_comm *c, struct pk_err *err)
{
    return make_call(c->impl, BARRIER, "a barrier", err);
}

static enum pk_code bcast(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err)
{
    struct mpi *m = c->impl;
    m->bytes = (struct bytes){.p = p, .n = bytes};
    return make_call(m, BCAST, "a broadcast", err);
}

static enum pk_code gather(struct pk_comm *c, const char *line, struct pk_arena *a, const char **lines,
                           struct pk_err *err)
{
    struct mpi *m = c->impl;
    struct bytes *b = &m->bytes;
    const size_t ranks = m->rank == 0 ? (size_t)m->size : 0;
    *b = (struct bytes){.mine = line, .n = strlen(line)};
    pk_arena_free(&m->gathered);
    b->sizes = pk_new_n(&m->gathered, int, ranks + 1);
    b->offsets = pk_new_n(&m->gathered, int, ranks + 1);
    if (make_call(m, GATHER_SIZES, "gathering", err))
        return err->code;
    if (ranks) {
        size_t all = 0;
        for (int i = 0; i < m->size; i++) {
            b->offsets[i] = (int)all;
            all += (size_t)b->sizes[i];
        }
        b->p = pk_alloc(&m->gathered, all + 1);
    }
    if (make_call(m, GATHER, "gathering", err))
        return err->code;
    for (size_t i = 0; i < ranks; i++)
        lines[i] = pk_strndup(a, (const char *)b->p + b->offsets[i], (size_t)b->sizes[i]);
    return PK_OK;
}

const struct pk_comm_ops pk_comm_mpi = {
    .name = "mpi",
    .summary = "processes over MPI, on one machine or many",
    .unavailable = pk_mpi_unavailable,
    .open = open_mpi,
    .close = close_mpi,
    .start = start,
    .wait = wait,
    .settle = settle,
    .barrier = barrier,
    .bcast = bcast,
    .gather = gather,
};
