/* Session: the parent's loop over invocations and cases. */
#include "bench/session/session.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/plan/declared_work.h"
#include "bench/session/parts.h"

static enum pk_code record_planned_gaps(struct session *s, struct pk_err *err)
{
    for (size_t i = 0; i < s->plan->n; i++) {
        const struct pk_planned_case *p = &s->plan->v[i];
        const char *why = p->skip ? p->skip : p->too_large;
        if (why && pk_session_case_is_open(s, i) &&
            pk_session_record_unmeasured(s, i, PK_PASS_TIMING, s->invocation,
                                         p->skip ? PK_ST_SKIPPED : PK_ST_OOM, why, err))
            return err->code;
    }
    return PK_OK;
}

static enum pk_code invocation(struct session *s, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t *order = pk_case_plan_order(s->plan->n, s->opt->order_seed, s->invocation, &a);
    for (size_t k = 0; k < s->plan->n && !pk_session_stopped(s); k++) {
        size_t i = order[k];
        if (!pk_session_case_is_open(s, i) || s->cases[i].invocations >= s->invocation)
            continue;
        if (pk_session_has_time_for(s, i) ? pk_session_measure_slice(s, i, pk_session_request(s, i), err)
                                          : pk_session_leave_out(s, i, PK_PASS_TIMING, s->invocation, err))
            return err->code;
    }
    pk_session_quit_workers(s, false);
    return PK_OK;
}

static void describe_cases(struct session *s, const struct pk_case_progress *done)
{
    const struct pk_case_plan *plan = s->plan;
    s->cases = pk_new_n(&s->arena, struct case_state, plan->n);
    for (size_t i = 0; i < plan->n; i++) {
        struct case_state *t = &s->cases[i];
        if (done) {
            t->invocations = done[i].invocations;
            t->last = done[i].last;
            t->passes = done[i].passes;
            t->n_passes = done[i].n_passes;
        }
        t->info = pk_planned_case_info(plan, i, &s->arena);
        t->axes = json_loads(t->info.axes, 0, NULL);
    }
}

enum pk_code pk_session_run(const struct pk_case_plan *plan, const struct pk_session_options *opt,
                            const struct pk_provider *providers, size_t n_providers, struct pk_recorder *rec,
                            int64_t run_id, const int64_t *case_ids, const struct pk_case_progress *done,
                            const struct pk_session_events *ev, const volatile int *stop_flag,
                            struct pk_session_result *out, struct pk_err *err)
{
    struct session s = {
        .plan = plan, .opt = opt, .rec = rec, .case_ids = case_ids, .ev = ev, .stop_flag = stop_flag};
    s.deadline_ns = opt->budget_ns ? pk_clock_ns() + (uint64_t)opt->budget_ns : UINT64_MAX;
    pk_session_open_clients(&s, providers, n_providers);
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
    *out = (struct pk_session_result){.samples = s.samples};
    size_t *const of_status[] = {
        [PK_ST_OK] = &out->ok,           [PK_ST_OOM] = &out->oom,
        [PK_ST_TIMEOUT] = &out->timeout, [PK_ST_SKIPPED] = &out->skipped,
        [PK_ST_FAILED] = &out->failed,   [PK_ST_INTERRUPTED] = &out->not_reached,
    };
    for (size_t i = 0; i < s.plan->n; i++) {
        ++*(s.cases[i].invocations ? of_status[s.cases[i].last] : &out->not_reached);
        out->unfinished += pk_session_case_is_open(&s, i);
    }
    snprintf(out->counters_unavailable, sizeof out->counters_unavailable, "%s",
             s.counters_unavailable ? s.counters_unavailable : "");
    out->interrupted = pk_session_stopped(&s) && (out->unfinished || s.to_count);
    pk_session_quit_workers(&s, true);
    for (size_t p = 0; p < s.n_clients; p++)
        pk_worker_client_free(&s.clients[p]);
    for (size_t i = 0; i < s.plan->n; i++)
        json_decref(s.cases[i].axes);
    char budget[32];
    pk_format_duration_exact(s.opt->budget_ns, budget, sizeof budget);
    if (s.cut_short)
        pk_session_warn_once(&s, pk_printf(&s.arena,
                                           "the budget of %s left %s with fewer invocations than requested, "
                                           "or none: --resume continues them",
                                           budget, pk_plural(s.cut_short, "case", &s.arena)));
    if (s.cut_passes)
        pk_session_warn_once(
            &s,
            pk_printf(
                &s.arena,
                "the budget of %s left out %s for counters, kernels or allocations: --resume continues them",
                budget, pk_plural(s.cut_passes, "pass", &s.arena)));
    pk_arena_free(&s.arena);
    return rc;
}
