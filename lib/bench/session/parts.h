/* Session, parts: what the files of this folder share. Private to them. */
#pragma once

#include "bench/session/session.h"

/* The state of a case so far. */
struct case_state {
    int invocations; /* recorded, those of an earlier run included */
    bool final;      /* not to be tried again */
    enum pk_status last;
    uint64_t elapsed_ns; /* of its last slice; 0 = unknown */
    json_t *axes;
    struct pk_case_info info;
    const struct pk_pass_progress *passes; /* that an earlier run made */
    size_t n_passes;
};

struct session {
    const struct pk_case_plan *plan;
    const struct pk_session_options *opt;
    struct pk_recorder *rec;
    const int64_t *case_ids;
    const struct pk_session_events *ev;
    const volatile int *stop_flag;
    struct pk_arena arena;
    struct case_state *cases;
    struct pk_worker_client *clients; /* of workers: one per provider, then one per number of ranks */
    unsigned *ranks_of;               /* [n_clients] that number */
    size_t n_clients, n_providers, done, samples;
    size_t environment; /* the client of perfkit's own worker, which reads the state of the machine */
    size_t cut_short, cut_passes; /* left out because of the budget: cases, and passes other than timing */
    size_t to_count;              /* counter, trace and memory passes that are left */
    const char *counters_unavailable; /* why a counter pass was not made, or failed: the first; NULL = none */
    int invocation;
    uint64_t deadline_ns; /* of the budget; UINT64_MAX = none */
    int64_t last_id;
    const char **warned; /* texts of warnings that were given */
    size_t n_warned, warned_cap;
};

static inline bool pk_session_stopped(const struct session *s)
{
    return s->stop_flag && *s->stop_flag;
}

/* Case i waits for more timing passes. */
static inline bool pk_session_case_is_open(const struct session *s, size_t i)
{
    return !s->cases[i].final && s->cases[i].invocations < s->opt->invocations;
}

/* Case i is measured by a program of another author: a peer, or one that described the experiment. */
static inline bool pk_session_is_of_other_author(const struct session *s, size_t i)
{
    return s->plan->v[i].provider || s->plan->probe->own;
}

/* slices.c: the request of a timing pass of case i; asks its worker, records what it answers. */
struct pk_request pk_session_request(const struct session *s, size_t i);
enum pk_code pk_session_measure_slice(struct session *s, size_t i, struct pk_request r,
                                      struct pk_err *err) PK_MUST_CHECK;
/* What is left of the budget has room for case i. */
bool pk_session_has_time_for(const struct session *s, size_t i);
/* A slice that no worker measured; of a case that is too large with the note that a worker's has (measure.c). */
enum pk_code pk_session_record_unmeasured(struct session *s, size_t i, enum pk_pass pass, int invocation,
                                          enum pk_status status, const char *message,
                                          struct pk_err *err) PK_MUST_CHECK;
/* It has none: a timed case keeps its invocations, a case or pass without any is recorded as skipped. --resume continues it. */
enum pk_code pk_session_leave_out(struct session *s, size_t i, enum pk_pass pass, int invocation,
                                  struct pk_err *err) PK_MUST_CHECK;

/* workers.c: a client for every number of ranks that the plan has, after those of the providers. */
void pk_session_open_clients(struct session *s, const struct pk_provider *providers, size_t n);
struct pk_worker_client *pk_session_client(struct session *s, size_t i); /* who measures case i */
/* Ends every worker, to start new ones; but not ranks that a launcher has started, because it does not start them again, unless `all`. */
void pk_session_quit_workers(struct session *s, bool all);

/* workers.c: facts that workers report. */
enum pk_code pk_session_record_facts(struct session *s, const struct pk_worker_client *l,
                                     struct pk_err *err) PK_MUST_CHECK;
/* A run that goes on keeps what it chose. */
enum pk_code pk_session_load_choices(struct session *s, struct pk_err *err) PK_MUST_CHECK;
void pk_session_warn_once(struct session *s, const char *text);

/* workers.c: around a case that a peer measures, perfkit's own worker reads the state of the machine, as it does around its own
 * cases. Nothing happens for other cases; what cannot be read is left out. */
void pk_session_before_peer(struct session *s, size_t i);
/* Adds the notes to a slice that ended ok; they live until the next request to our own worker. */
void pk_session_after_peer(struct session *s, size_t i, struct pk_slice *slice);

/* passes.c: counter, trace and memory passes, when every timing pass is over. How many case i waits for, once it was timed: */
size_t pk_session_extra_passes_of(const struct session *s, size_t i);
enum pk_code pk_session_extra_passes(struct session *s, struct pk_err *err) PK_MUST_CHECK;
