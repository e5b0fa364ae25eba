/* Rank group: who is where, what rank 0 says, and what the others reply. */
#include "bench/worker/rank_group.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/text/buf.h"
#include "bench/worker/environment.h"
#include "bench/worker/start_ranks.h"
#include "machine/machine.h"
#include "json/json.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DAY_NS    (86400 * PK_NS_PER_S)
#define MINUTE_NS (60 * PK_NS_PER_S)

/* --- who is where ------------------------------------------------------------------------------------------------------- */

/* Everybody's text, on every rank. */
static enum pk_code gather_all(struct pk_rank_group *r, const char *mine, const char ***all,
                               struct pk_err *err)
{
    struct pk_comm *c = &r->comm;
    struct pk_buf joined = {.arena = &r->arena};
    const char *text, **v = *all = pk_new_n(&r->arena, const char *, c->processes);
    if (pk_comm_gather(c, mine, &r->arena, v, err))
        return err->code;
    for (unsigned i = 0; c->rank == 0 && i < c->processes; i++)
        pk_buf_printf(&joined, "%s\n", v[i]);
    if (pk_rank_group_receive(r, c->rank == 0 ? pk_buf_text(&joined) : NULL, &r->arena, &text, err))
        return err->code;
    for (unsigned i = 0; i < c->processes; i++) {
        v[i] = pk_strndup(&r->arena, text, strcspn(text, "\n"));
        text += strlen(v[i]) + 1;
    }
    return PK_OK;
}

/* A launcher that gave each rank different CPUs has already divided them. */
void pk_rank_group_share(const struct pk_rank_group *r, unsigned rank, struct pk_cpus *out)
{
    unsigned index = 0, sharing = 0;
    struct pk_cpus all;
    for (unsigned i = 0; i < r->comm.processes; i++)
        if (!strcmp(r->given[i], r->given[rank])) {
            index += i < rank;
            sharing++;
        }
    const char *own = strrchr(r->given[rank], ' ') + 1;
    pk_assert(pk_cpus_read(r->bind ? r->bind : own, &all) || pk_cpus_read(own, &all));
    const unsigned n = all.n, from = sharing > n ? index % n : index * n / sharing;
    const unsigned to = sharing > n ? from + 1 : (index + 1) * n / sharing;
    out->n = to - from;
    memcpy(out->v, all.v + from, out->n * sizeof *out->v);
}

/* "HOST CPUS": of equal hosts the texts are equal up to the blank, and it. */
unsigned pk_rank_group_local_rank(const struct pk_rank_group *r)
{
    const char *own = r->given[r->comm.rank];
    unsigned before = 0;
    for (unsigned i = 0; i < r->comm.rank; i++)
        before += !strncmp(r->given[i], own, strcspn(own, " ") + 1);
    return before;
}

/* --- open and close ---------------------------------------------------------------------------------------------------- */

static enum pk_code prepare_replies(struct pk_rank_group *r, struct pk_err *err)
{
    const unsigned n = r->comm.processes;
    r->replies_fd = -1;
    if (r->comm.rank == 0) {
        r->collectors = pk_new_n(&r->arena, struct pk_collector *, n);
        for (unsigned i = 1; i < n; i++)
            r->collectors[i] = pk_collector_new();
        return PK_OK;
    }
    r->replies_fd = memfd_create("replies", MFD_CLOEXEC);
    if (r->replies_fd >= 0)
        return PK_OK;
    pk_fail(err, PK_E_IO, "cannot store the reply of rank %u", r->comm.rank);
    pk_why_errno(err, errno);
    return pk_fix(err, "raise the limit of open files (ulimit -n)");
}

/* Rank 0 comes when its parent has a case, which is as long as it takes; it waits for none of those that were there before it. */
static enum pk_code connect_ranks(struct pk_rank_group *r, struct pk_device *dev, struct pk_err *err)
{
    const struct pk_launcher l = pk_launcher_of_process();
    const struct pk_comm_options o = {
        .ranks = l.size, .timeout_ns = l.rank ? DAY_NS : MINUTE_NS, .heartbeats = &r->heartbeats};
    enum pk_code rc = pk_comm_open(&r->comm, PK_COMM_MPI, dev, &o, err);
    if (rc != PK_E_TIMEOUT || l.rank)
        return rc;
    pk_fail(err, PK_E_TIMEOUT, "not all of %u ranks connected within a minute", l.size);
    pk_why(err, "one of them has ended, or was started with another command");
    return pk_fix(err, "start every rank with the same command line");
}

static enum pk_code join_heartbeats(struct pk_rank_group *r, const char *path, struct pk_err *err)
{
    const char *page;
    if (pk_rank_group_receive(r, path, &r->arena, &page, err))
        return err->code;
    const char *first = r->given[0]; /* the path is one of its host */
    if (page && !strncmp(r->given[r->comm.rank], first, strcspn(first, " ") + 1))
        pk_rank_heartbeats_join(&r->heartbeats, page, r->comm.processes, r->comm.rank);
    return PK_OK;
}

enum pk_code pk_rank_group_open(struct pk_rank_group *r, struct pk_device *dev, const char *heartbeats,
                                uint64_t timeout_ns, struct pk_err *err)
{
    *r = (struct pk_rank_group){.replies_fd = -1, .heartbeats.timeout_ns = timeout_ns};
    if (timeout_ns)
        r->heartbeats.launcher = (int)getppid();
    enum pk_code rc = connect_ranks(r, dev, err);
    if (rc)
        return rc;
    r->comm.timeout_ns = MINUTE_NS;
    char host[256] = "";
    struct pk_cpus own;
    gethostname(host, sizeof host - 1);
    own.n = pk_machine_cpus(own.v, PK_CPUS_MAX);
    if (!gather_all(r, pk_printf(&r->arena, "%s %s", host, pk_cpus_text(&own, &r->arena)), &r->given, err) &&
        !join_heartbeats(r, heartbeats, err) && !prepare_replies(r, err))
        return PK_OK;
    r->comm.broken = true;
    pk_rank_group_close(r);
    return err->code;
}

void pk_rank_group_close(struct pk_rank_group *r)
{
    for (unsigned i = 1; r->collectors && i < r->comm.processes; i++)
        pk_collector_free(r->collectors[i]);
    if (r->replies_fd >= 0)
        close(r->replies_fd);
    pk_comm_close(&r->comm);
    pk_rank_heartbeats_close(&r->heartbeats);
    pk_arena_free(&r->arena);
    *r = (struct pk_rank_group){.replies_fd = -1};
}

/* --- requests ------------------------------------------------------------------------------------------------------------ */

enum pk_code pk_rank_group_receive(struct pk_rank_group *r, const char *mine, struct pk_arena *a,
                                   const char **text, struct pk_err *err)
{
    uint64_t bytes = mine ? strlen(mine) + 1 : 0; /* 0: no text */
    *text = NULL;
    enum pk_code rc = pk_comm_await(&r->comm, &bytes, sizeof bytes, err);
    if (rc || !bytes)
        return rc;
    char *copy = pk_alloc(a, bytes);
    if (mine)
        memcpy(copy, mine, bytes);
    *text = copy;
    return pk_comm_bcast(&r->comm, copy, bytes, err);
}

/* --- replies -------------------------------------------------------------------------------------------------------------- */

/* What was written to the descriptor since the last call. */
static const char *take_replies(const struct pk_rank_group *r, struct pk_arena *a)
{
    const off_t bytes = lseek(r->replies_fd, 0, SEEK_END);
    char *text = pk_alloc(a, (size_t)bytes + 1);
    size_t n = 0;
    for (ssize_t got; n < (size_t)bytes; n += (size_t)got)
        if ((got = pread(r->replies_fd, text + n, (size_t)bytes - n, (off_t)n)) <= 0)
            break;
    text[n] = 0;
    if (ftruncate(r->replies_fd, 0) || lseek(r->replies_fd, 0, SEEK_SET))
        text[0] = 0;
    return text;
}

/* NULL when the lines are no whole slice. */
static const struct pk_slice *read_slice(struct pk_collector *c, const char *lines)
{
    struct pk_wire_reader *reader = pk_wire_reader_new();
    struct pk_wire_msg m;
    const char *problem = NULL;
    bool whole = false;
    pk_collector_reset(c);
    pk_wire_feed(reader, lines, strlen(lines));
    while (!whole && !problem && pk_wire_next(reader, &m))
        whole = pk_collect(c, &m, &problem);
    pk_wire_reader_free(reader);
    return whole && !problem ? pk_collected(c) : NULL;
}

static void add_note(const struct pk_rank_group *r, struct pk_slice *slice, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *cpus = json_array(), *hosts = json_array();
    for (unsigned i = 0; i < r->comm.processes; i++) {
        struct pk_cpus share;
        pk_rank_group_share(r, i, &share);
        json_array_append_new(cpus, r->no_bind ? json_null() : json_string(pk_cpus_text(&share, a)));
        json_array_append_new(hosts, json_string(pk_strndup(a, r->given[i], strcspn(r->given[i], " "))));
    }
    PK_JSON_CLEANUP json_t *j =
        json_pack("{s:i, s:O, s:O}", "size", (int)r->comm.processes, "hosts", hosts, "cpus", cpus);
    pk_slice_add_note(slice, "ranks", pk_json_text(a, j, PK_JSON_COMPACT), a);
}

/* What happened when on another rank: its notes "trace" and "timeline" as "trace:1" and so on, up to a size. */
static void add_times(struct pk_slice *slice, const struct pk_slice *theirs, unsigned rank, size_t *bytes,
                      struct pk_arena *a)
{
    enum { BYTES_MAX = 1 << 20 };
    for (size_t i = 0; i < theirs->n_notes; i++) {
        const struct pk_note *n = &theirs->notes[i];
        if (strcmp(n->key, "trace") != 0 && strcmp(n->key, "timeline") != 0)
            continue;
        *bytes += strlen(n->json);
        if (*bytes <= BYTES_MAX)
            pk_slice_add_note(slice, pk_printf(a, "%s:%u", n->key, rank), n->json, a);
    }
}

enum pk_code pk_rank_group_collect(struct pk_rank_group *r, struct pk_arena *a, struct pk_slice *slice,
                                   struct pk_err *err)
{
    const char *mine = r->comm.rank ? take_replies(r, a) : "";
    const char **all = pk_new_n(a, const char *, r->comm.processes);
    size_t note_bytes = 0;
    if (pk_comm_gather(&r->comm, mine, a, all, err))
        return err->code;
    for (unsigned i = 1; r->comm.rank == 0 && i < r->comm.processes && slice->status == PK_ST_OK; i++) {
        const struct pk_slice *theirs = read_slice(r->collectors[i], all[i]);
        if (theirs && theirs->status == PK_ST_OK) {
            struct pk_series *v = pk_new_n(a, struct pk_series, slice->n_series + theirs->n_series + 1);
            if (slice->n_series)
                memcpy(v, slice->series, slice->n_series * sizeof *v);
            for (size_t k = 0; k < theirs->n_series; k++) {
                struct pk_series *s = &v[slice->n_series];
                *s = theirs->series[k];
                size_t m = 0;
                while (m < slice->n_metrics &&
                       strcmp(slice->metrics[m].name, theirs->metrics[s->metric].name) != 0)
                    m++;
                s->metric = m;
                s->rank = (int)i;
                slice->n_series += s->metric < slice->n_metrics;
            }
            slice->series = v;
            add_times(slice, theirs, i, &note_bytes, a);
        } else {
            slice->status = theirs ? theirs->status : PK_ST_FAILED;
            slice->message =
                pk_printf(a, "rank %u: %s", i, theirs ? theirs->message : "its reply cannot be read");
            slice->n_metrics = slice->n_series = 0;
        }
    }
    if (r->comm.rank == 0 && slice->status == PK_ST_OK)
        add_note(r, slice, a);
    return PK_OK;
}
