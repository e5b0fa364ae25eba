/* Session, slices: requests one slice of one case from a worker, within the time limits, and records it. */
#include "bench/session/parts.h"

#include "base/clock.h"
#include "base/text/units.h"

#include <math.h>

/* How long a slice of this case is expected to take: as its last one did, else as is known of this machine, else a few times its floor. */
static double expected_ns(const struct session *s, size_t i)
{
    const double least_ns = s->plan->v[i].least_ns, known = s->opt->expected_ns ? s->opt->expected_ns[i] : 0;
    return s->cases[i].elapsed_ns ? (double)s->cases[i].elapsed_ns
           : known > 0            ? known / s->opt->invocations
           : isfinite(least_ns)   ? 3 * least_ns
                                  : 0;
}

/* Slices still to be measured and the time that they should take. */
static size_t remaining_slices(const struct session *s, int64_t *ns)
{
    size_t n = s->to_count;
    double sum = 0;
    for (size_t i = 0; i < s->plan->n; i++)
        if (pk_session_case_is_open(s, i)) {
            int k = s->opt->invocations - s->cases[i].invocations;
            n += (size_t)k;
            sum += k * expected_ns(s, i);
        }
    *ns = sum < 0x1p63 ? (int64_t)sum : INT64_MAX;
    return n;
}

static enum pk_code record(struct session *s, size_t i, struct pk_slice *slice, struct pk_err *err)
{
    struct case_state *t = &s->cases[i];
    enum pk_code rc = pk_record_slice(s->rec, s->case_ids[i], &t->info, slice, err);
    if (rc && rc != PK_E_USAGE) /* a resumed run may have it: an earlier invocation went into a spool */
        return rc;
    if (slice->pass == PK_PASS_TIMING) {
        t->last = slice->status;
        t->final = slice->status != PK_ST_OK;
        t->elapsed_ns = slice->elapsed_ns;
        t->invocations++;
    } else {
        s->to_count--;
    }
    int64_t ns;
    size_t n = remaining_slices(s, &ns);
    s->done++;
    for (size_t k = 0; k < slice->n_series; k++)
        s->samples += slice->series[k].n;
    if (s->ev && s->ev->slice)
        s->ev->slice(s->ev->user, &s->plan->v[i], slice, s->done, s->done + n, ns);
    return PK_OK;
}

enum pk_code pk_session_record_unmeasured(struct session *s, size_t i, enum pk_pass pass, int invocation,
                                          enum pk_status status, const char *message, struct pk_err *err)
{
    const struct pk_planned_case *p = &s->plan->v[i];
    const char *shrink = p->would_fit ? p->c.probe->shrink : NULL;
    const struct pk_note largest = {
        "largest", shrink ? pk_printf(&s->arena, "{\"%s\":%lld,\"limit_bytes\":%lld}", shrink,
                                      (long long)p->largest, (long long)s->plan->limit_bytes)
                          : NULL};
    struct pk_slice slice = {.pass = pass,
                             .invocation = invocation,
                             .status = status,
                             .message = message,
                             .started_wall_ns = pk_wall_ns(),
                             .notes = &largest,
                             .n_notes = shrink != NULL};
    return record(s, i, &slice, err);
}

/* A case that cannot be counted stays as it was timed. */
static enum pk_code record_missing_counters(struct session *s, enum pk_pass pass, const char *why)
{
    if (pass == PK_PASS_COUNTER && !s->counters_unavailable)
        s->counters_unavailable = pk_strdup(&s->arena, why);
    pk_session_warn_once(s, pk_printf(&s->arena, "not %s: %s",
                                      pass == PK_PASS_TRACE    ? "traced"
                                      : pass == PK_PASS_MEMORY ? "written down"
                                                               : "counted",
                                      why));
    return PK_OK;
}

enum pk_code pk_session_leave_out(struct session *s, size_t i, enum pk_pass pass, int invocation,
                                  struct pk_err *err)
{
    static const struct pk_note by_budget = {"left_out", "\"budget\""}; /* --resume looks for it */
    char budget[32];
    ++*(pass == PK_PASS_TIMING ? &s->cut_short : &s->cut_passes);
    if (pass == PK_PASS_TIMING && s->cases[i].invocations) {
        s->cases[i].final = true;
        return PK_OK;
    }
    pk_format_duration_exact(s->opt->budget_ns, budget, sizeof budget);
    struct pk_slice slice = {
        .pass = pass,
        .invocation = invocation,
        .status = PK_ST_SKIPPED,
        .message = pk_printf(&s->arena, "does not fit into the budget of %s", budget),
        .started_wall_ns = pk_wall_ns(),
        .notes = &by_budget,
        .n_notes = 1,
    };
    return record(s, i, &slice, err);
}

/* The remaining budget is divided evenly; half of a share is for setup, warm-up and checks. A budget reduces the requested number of
 * samples, but not below three. */
static struct pk_stop stop_rule(const struct session *s)
{
    struct pk_stop stop = s->opt->stop;
    if (s->deadline_ns == UINT64_MAX)
        return stop;
    uint64_t now = pk_clock_ns();
    int64_t ns;
    size_t n = remaining_slices(s, &ns);
    int64_t share = now < s->deadline_ns ? (int64_t)((s->deadline_ns - now) / (2 * (n ? n : 1))) : 0;
    if (stop.max_time_ns > share)
        stop.max_time_ns = share > (int64_t)PK_NS_PER_MS ? share : (int64_t)PK_NS_PER_MS;
    if (stop.min_time_ns > stop.max_time_ns)
        stop.min_time_ns = stop.max_time_ns;
    if (stop.min_samples > PK_SAMPLES_IN_A_BUDGET)
        stop.min_samples = PK_SAMPLES_IN_A_BUDGET;
    return stop;
}

struct pk_request pk_session_request(const struct session *s, size_t i)
{
    const struct pk_planned_case *p = &s->plan->v[i];
    return (struct pk_request){
        .experiment = s->plan->probe->name,
        .variant = p->variant,
        .device = s->plan->device,
        .axes = s->cases[i].axes,
        .pass = PK_PASS_TIMING,
        .invocation = s->invocation,
        .check = s->opt->check && s->invocation == 1,
        .seed = s->opt->seed,
        .stop = stop_rule(s),
        .device_options = s->opt->device,
    };
}

/* A case fails when a process of its worker is stopped or one of its ranks does not answer, as when it dies: that is not the case's doing. */
static enum pk_code record_late(struct session *s, size_t i, const struct pk_request *r,
                                const struct pk_worker_client *l, bool by_budget, struct pk_err *err)
{
    char limit[32];
    const bool ranks = s->plan->v[i].ranks > 0;
    if (by_budget && !l->missing)
        return pk_session_leave_out(s, i, r->pass, r->invocation, err);
    pk_format_duration_exact(s->opt->timeout_ns +
                                 (pk_session_is_of_other_author(s, i) ? s->opt->peer_startup_ns : 0),
                             limit, sizeof limit);
    const char *message =
        l->missing
            ? pk_printf(&s->arena, "%s; %s; %s", l->missing,
                        l->silent ? "no progress for 30 s" : "the time limit was reached",
                        ranks ? "all ranks were ended" : "the worker and its processes were ended")
            : pk_printf(&s->arena, "no result after %s; the worker and its processes were ended", limit);
    const enum pk_status status = l->missing ? PK_ST_FAILED : PK_ST_TIMEOUT;
    const enum pk_code rc = pk_session_record_unmeasured(s, i, r->pass, r->invocation, status, message, err);
    return rc || r->pass == PK_PASS_TIMING ? rc : record_missing_counters(s, r->pass, message);
}

enum pk_code pk_session_measure_slice(struct session *s, size_t i, struct pk_request r, struct pk_err *err)
{
    struct pk_worker_client *l = pk_session_client(s, i);
    pk_session_before_peer(s, i);
    uint64_t began = pk_clock_ns(), wall = pk_wall_ns(),
             deadline =
                 began + (uint64_t)(s->opt->timeout_ns +
                                    (pk_session_is_of_other_author(s, i) ? s->opt->peer_startup_ns : 0));
    bool by_budget = s->deadline_ns < deadline;
    struct pk_slice *slice;
    r.id = ++s->last_id;
    switch (pk_worker_client_request(l, &r, by_budget ? s->deadline_ns : deadline, s->stop_flag, &slice)) {
    case PK_REPLY_STOPPED:
        return PK_OK;
    case PK_REPLY_LATE:
        return record_late(s, i, &r, l, by_budget, err);
    case PK_REPLY_SLICE:
        break;
    }
    slice->pass = r.pass;
    slice->invocation = r.invocation;
    slice->started_wall_ns = wall;
    slice->elapsed_ns = pk_clock_ns() - began;
    if (s->opt->as_warmup)
        pk_slice_set_warmup(slice, &s->arena);
    pk_session_after_peer(s, i, slice);
    enum pk_code rc = pk_session_record_facts(s, l, err);
    if (!rc)
        rc = record(s, i, slice, err);
    if (!rc && r.pass != PK_PASS_TIMING && slice->status != PK_ST_OK)
        rc = record_missing_counters(s, r.pass, slice->message);
    return rc;
}

bool pk_session_has_time_for(const struct session *s, size_t i)
{
    return s->deadline_ns == UINT64_MAX || (double)pk_clock_ns() + expected_ns(s, i) < (double)s->deadline_ns;
}
