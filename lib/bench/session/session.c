/* Session: the parent's loop over invocations and cases. */
#include "bench/session/session.h"

#include "bench/session/parts.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/plan/declared_work.h"

#include <math.h>
#include <string.h>

static bool open_case(const struct session *s, size_t i)
{
    return !s->cases[i].final && s->cases[i].invocations < s->opt->invocations;
}

/* How long a slice of this case is expected to take: as its last one did, else a few times its floor. */
static double expected_ns(const struct session *s, size_t i)
{
    double least_ns = s->plan->v[i].least_ns;
    return s->cases[i].elapsed_ns ? (double)s->cases[i].elapsed_ns : isfinite(least_ns) ? 3 * least_ns : 0;
}

/* Slices still to be measured and the time that they should take. */
static size_t left(const struct session *s, int64_t *ns)
{
    size_t n = s->to_count;
    double sum = 0;
    for (size_t i = 0; i < s->plan->n; i++)
        if (open_case(s, i)) {
            int k = s->opt->invocations - s->cases[i].invocations;
            n += (size_t)k;
            sum += k * expected_ns(s, i);
        }
    *ns = sum < 0x1p63 ? (int64_t)sum : INT64_MAX;
    return n;
}

static void tell(struct session *s, size_t i, const struct pk_slice *slice)
{
    int64_t ns;
    size_t n = left(s, &ns);
    s->done++;
    for (size_t k = 0; k < slice->n_series; k++)
        s->samples += slice->series[k].n;
    if (s->ev && s->ev->slice)
        s->ev->slice(s->ev->user, &s->plan->v[i], slice, s->done, s->done + n, ns);
}

static enum pk_code record(struct session *s, size_t i, struct pk_slice *slice, struct pk_err *err)
{
    struct tally *t = &s->cases[i];
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
    tell(s, i, slice);
    return PK_OK;
}

/* A slice that no worker measured; of a case that is too large with the note that a worker's has (measure.c). */
static enum pk_code record_unmeasured(struct session *s, size_t i, enum pk_pass pass, int invocation,
                                      enum pk_status status, const char *message, struct pk_err *err)
{
    const struct pk_planned *p = &s->plan->v[i];
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

static enum pk_code record_planned_gaps(struct session *s, struct pk_err *err)
{
    for (size_t i = 0; i < s->plan->n; i++) {
        const struct pk_planned *p = &s->plan->v[i];
        enum pk_code rc = PK_OK;
        if (!open_case(s, i))
            continue;
        if (p->skip)
            rc = record_unmeasured(s, i, PK_PASS_TIMING, s->invocation, PK_ST_SKIPPED, p->skip, err);
        else if (p->too_large)
            rc = record_unmeasured(s, i, PK_PASS_TIMING, s->invocation, PK_ST_OOM, p->too_large, err);
        if (rc)
            return rc;
    }
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

/* What is left of a budget is shared out evenly; half of a share is for set-up, warm-up and checks. A budget outweighs the
 * number of samples asked for, down to three. */
static struct pk_stop stop_rule(const struct session *s)
{
    struct pk_stop stop = s->opt->stop;
    if (s->deadline_ns == UINT64_MAX)
        return stop;
    uint64_t now = pk_clock_ns();
    int64_t ns;
    size_t n = left(s, &ns);
    int64_t share = now < s->deadline_ns ? (int64_t)((s->deadline_ns - now) / (2 * (n ? n : 1))) : 0;
    if (stop.max_time_ns > share)
        stop.max_time_ns = share > (int64_t)PK_NS_PER_MS ? share : (int64_t)PK_NS_PER_MS;
    if (stop.min_time_ns > stop.max_time_ns)
        stop.min_time_ns = stop.max_time_ns;
    if (stop.min_samples > PK_SAMPLES_IN_A_BUDGET)
        stop.min_samples = PK_SAMPLES_IN_A_BUDGET;
    return stop;
}

struct pk_request pk_session_request(struct session *s, size_t i)
{
    const struct pk_planned *p = &s->plan->v[i];
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

static int64_t limit_ns(const struct session *s, size_t i)
{
    return s->opt->timeout_ns + (s->plan->v[i].provider ? s->opt->peer_startup_ns : 0);
}

/* Ranks of which one does not answer fail, as those of which one dies. */
static enum pk_code late(struct session *s, size_t i, const struct pk_request *r, const char *absent,
                         bool by_budget, struct pk_err *err)
{
    char limit[32];
    if (by_budget && !absent)
        return pk_session_leave_out(s, i, r->pass, r->invocation, err);
    pk_format_duration_exact(limit_ns(s, i), limit, sizeof limit);
    const char *message =
        absent ? pk_printf(&s->arena, "%s; the time was up, and all of them were ended", absent)
               : pk_printf(&s->arena, "no result after %s; its process group was ended", limit);
    const enum pk_status status = absent ? PK_ST_FAILED : PK_ST_TIMEOUT;
    const enum pk_code rc = record_unmeasured(s, i, r->pass, r->invocation, status, message, err);
    return rc || r->pass == PK_PASS_TIMING ? rc : pk_session_uncounted(s, r->pass, message);
}

enum pk_code pk_session_ask(struct session *s, size_t i, struct pk_request r, struct pk_err *err)
{
    struct pk_worker_client *l = pk_session_link(s, i);
    pk_session_before_peer(s, i);
    uint64_t began = pk_clock_ns(), wall = pk_wall_ns(), deadline = began + (uint64_t)limit_ns(s, i);
    bool by_budget = s->deadline_ns < deadline;
    struct pk_slice *slice;
    r.id = ++s->last_id;
    switch (pk_worker_client_ask(l, &r, by_budget ? s->deadline_ns : deadline, s->stop_flag, &slice)) {
    case PK_ANSWER_STOPPED:
        return PK_OK;
    case PK_ANSWER_LATE:
        return late(s, i, &r, l->absent, by_budget, err);
    case PK_ANSWER_SLICE:
        break;
    }
    slice->pass = r.pass;
    slice->invocation = r.invocation;
    slice->started_wall_ns = wall;
    slice->elapsed_ns = pk_clock_ns() - began;
    pk_session_after_peer(s, i, slice);
    enum pk_code rc = pk_session_record_facts(s, l, err);
    if (!rc)
        rc = record(s, i, slice, err);
    if (!rc && r.pass != PK_PASS_TIMING && slice->status != PK_ST_OK)
        rc = pk_session_uncounted(s, r.pass, slice->message);
    return rc;
}

bool pk_session_fits(const struct session *s, size_t i)
{
    return s->deadline_ns == UINT64_MAX || (double)pk_clock_ns() + expected_ns(s, i) < (double)s->deadline_ns;
}

static enum pk_code invocation(struct session *s, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t *order = pk_plan_order(s->plan->n, s->opt->seed, s->invocation, &a);
    for (size_t k = 0; k < s->plan->n && !pk_session_stopped(s); k++) {
        size_t i = order[k];
        if (!open_case(s, i) || s->cases[i].invocations >= s->invocation)
            continue;
        if (pk_session_fits(s, i) ? pk_session_ask(s, i, pk_session_request(s, i), err)
                                  : pk_session_leave_out(s, i, PK_PASS_TIMING, s->invocation, err))
            return err->code;
    }
    pk_session_quit_workers(s, false);
    return PK_OK;
}

static void describe_cases(struct session *s, const struct pk_done *done)
{
    const struct pk_plan *plan = s->plan;
    s->cases = pk_new_n(&s->arena, struct tally, plan->n);
    for (size_t i = 0; i < plan->n; i++) {
        struct tally *t = &s->cases[i];
        if (done) {
            t->invocations = done[i].invocations;
            t->last = done[i].last;
            t->passes = done[i].passes;
            t->n_passes = done[i].n_passes;
        }
        t->info = pk_planned_info(plan, i, &s->arena);
        t->axes = json_loads(t->info.axes, 0, NULL);
    }
}

static void count(const struct session *s, struct pk_session_result *out)
{
    *out = (struct pk_session_result){.samples = s->samples};
    size_t *const of_status[] = {
        [PK_ST_OK] = &out->ok,           [PK_ST_OOM] = &out->oom,
        [PK_ST_TIMEOUT] = &out->timeout, [PK_ST_SKIPPED] = &out->skipped,
        [PK_ST_FAILED] = &out->failed,   [PK_ST_INTERRUPTED] = &out->not_reached,
    };
    for (size_t i = 0; i < s->plan->n; i++) {
        ++*(s->cases[i].invocations ? of_status[s->cases[i].last] : &out->not_reached);
        out->unfinished += open_case(s, i);
    }
    out->uncounted = s->uncounted;
    out->interrupted = pk_session_stopped(s) && (out->unfinished || s->to_count);
}

static void tell_what_was_cut(struct session *s)
{
    char budget[32];
    pk_format_duration_exact(s->opt->budget_ns, budget, sizeof budget);
    if (s->cut_short)
        pk_session_warn_once(
            s, pk_printf(&s->arena,
                         "the budget of %s left %s with fewer invocations than asked, or none: --resume "
                         "goes on with them",
                         budget, pk_plural(s->cut_short, "case", &s->arena)));
    if (s->cut_passes)
        pk_session_warn_once(
            s, pk_printf(&s->arena,
                         "the budget of %s left out %s for counters, kernels or allocations: --resume goes "
                         "on with them",
                         budget, pk_plural(s->cut_passes, "pass", &s->arena)));
}

static void end_session(struct session *s)
{
    pk_session_quit_workers(s, true);
    for (size_t p = 0; p < s->n_links; p++)
        pk_worker_client_free(&s->links[p]);
    for (size_t i = 0; i < s->plan->n; i++)
        json_decref(s->cases[i].axes);
    tell_what_was_cut(s);
    pk_arena_free(&s->arena);
}

enum pk_code pk_session_run(const struct pk_plan *plan, const struct pk_session_options *opt,
                            const struct pk_provider *providers, size_t n_providers, struct pk_recorder *rec,
                            int64_t run_id, const int64_t *case_ids, const struct pk_done *done,
                            const struct pk_session_events *ev, const volatile int *stop_flag,
                            struct pk_session_result *out, struct pk_err *err)
{
    struct session s = {
        .plan = plan, .opt = opt, .rec = rec, .case_ids = case_ids, .ev = ev, .stop_flag = stop_flag};
    s.deadline_ns = opt->budget_ns ? pk_clock_ns() + (uint64_t)opt->budget_ns : UINT64_MAX;
    pk_session_open_links(&s, providers, n_providers);
    describe_cases(&s, done);
    for (size_t i = 0; i < plan->n; i++)
        s.to_count += pk_session_extra_passes_of(&s, i);
    s.invocation = 1;
    enum pk_code rc = done ? pk_session_load_choices(&s, err) : PK_OK;
    if (!rc)
        rc = record_planned_gaps(&s, err);
    for (; !rc && s.invocation <= opt->invocations && !pk_session_stopped(&s); s.invocation++)
        rc = invocation(&s, err);
    if (!rc)
        rc = pk_session_extra_passes(&s, err);
    count(&s, out);
    end_session(&s);
    return rc;
}
