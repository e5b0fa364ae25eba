/* Session: the parent's loop. It starts workers, gives them one case at a time, collects slices and records them while every worker
 * waits. It enforces time limits and budgets, and survives workers that crash, hang or send garbage.
 *
 * One invocation = one fresh process per provider over a shuffled list of all cases. A worker that ends early
 * fails the case it had (with signal or exit status in the message) and is replaced for the rest. A case that
 * ended oom, timeout, failed or skipped is not tried in later invocations. Workers and all that
 * they start end with the parent (base/program/program.h). Garbage, an undeclared metric, a metric of the probe in another unit, another
 * request's id, a case that was not requested, or "ok" without a sample violate the protocol: the case fails with the reason and that
 * worker is ended.
 *
 * Counter passes, and a trace pass, come when every timing pass is over: for each fresh workers measure perfkit's own cases that ended ok
 * once more, with few samples, and programs that described the experiment are counted from outside (client/external_counts.h). Counter pass k is the slice of invocation k + 1 and pass "counter". One that fails is a warning and leaves its
 * case as it is; one that a budget has no room for is recorded as skipped, a warning says so, and a resumed run makes it. */
#pragma once

#include "bench/client/worker_client.h"
#include "bench/plan/plan.h"
#include "bench/record/record.h"
#include "counter/select.h"
#include "store/record/resume.h"

enum { PK_SAMPLES_IN_A_BUDGET = 3 }; /* a budget reduces the requested number of samples, down to this */

struct pk_session_options {
    struct pk_stop stop;
    int invocations; /* default 3 */
    /* 0 = none: time is divided among the remaining cases; a case that does not fit is recorded as skipped, or keeps the invocations it
     * has; a warning says so, and a resumed run tries it again */
    int64_t budget_ns;
    int64_t timeout_ns;      /* per slice; default 10 min */
    int64_t peer_startup_ns; /* more for a slice of a peer, which imports frameworks and compiles */
    uint64_t seed;           /* of inputs */
    uint64_t order_seed;     /* of the order of the cases in each invocation */
    bool check;              /* in the first invocation */
    bool as_warmup;          /* samples are recorded as warm-up (wire/slice.h) */
    struct pk_device_options device;
    const double *expected_ns; /* of each case, all processes together, 0 = unknown; NULL = none is known */
    const struct pk_counters *counters; /* what to count after the last timing pass; NULL = nothing */
    bool breakdown;                     /* a trace pass follows */
    bool memory;                        /* and a memory pass */
};

/* Events for progress and warnings; called only between slices. Any may be NULL. */
struct pk_session_events {
    void (*slice)(void *user, const struct pk_planned_case *p, const struct pk_slice *s, size_t done,
                  size_t total, int64_t left_ns);
    void (*warning)(void *user, const char *text);
    void *user;
};

struct pk_session_result {
    size_t samples; /* recorded by this session: values of every metric */
    size_t ok, oom, timeout, skipped, failed,
        not_reached;   /* cases by their last status, from this session or an earlier one */
    size_t unfinished; /* cases that wait for more invocations; 0 unless interrupted */
    bool
        interrupted; /* *stop_flag was set while something was unfinished; the slice in flight is not recorded */
    char counters_unavailable[512]; /* why a counter pass was not made, or failed: the first; "" = none */
};

/* case_ids[i] is the store's id of plan->v[i]. `done[i]` = what is already recorded of case i (--resume),
 * NULL = nothing. Stops
 * at once, cleanly, when *stop_flag becomes non-zero (set by a handler of signals): PK_OK with
 * out->interrupted. Errors are the recorder's. */
enum pk_code pk_session_run(const struct pk_case_plan *plan, const struct pk_session_options *opt,
                            const struct pk_provider *providers, size_t n_providers, struct pk_recorder *rec,
                            int64_t run_id, const int64_t *case_ids, const struct pk_case_progress *done,
                            const struct pk_session_events *ev, const volatile int *stop_flag,
                            struct pk_session_result *out, struct pk_err *err) PK_MUST_CHECK;
