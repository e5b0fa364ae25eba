/* Session, passes after timing: every timed case is run once more for each plan of events, once for its kernels, and once for its
 * allocations. */
#include "bench/session/parts.h"

#include "bench/own/own.h"

/* Of a program that described the experiment, samples are counted from outside, and there are no other passes. */
static bool has_pass(const struct session *s, size_t i, enum pk_pass pass)
{
    return !pk_session_is_of_other_author(s, i) ||
           (pass == PK_PASS_COUNTER && pk_own_counted(s->plan->probe, s->plan->kind));
}

static bool was_timed(const struct session *s, size_t i)
{
    return s->cases[i].invocations && s->cases[i].last == PK_ST_OK;
}

/* A run that goes on has this pass of the case already. */
static bool is_over(const struct case_state *t, enum pk_pass pass, int number)
{
    for (size_t k = 0; k < t->n_passes; k++)
        if (t->passes[k].pass == pass && t->passes[k].invocation == number)
            return true;
    return false;
}

/* All cases once more, by fresh workers. */
static enum pk_code extra_pass(struct session *s, enum pk_pass pass, int number,
                               const struct pk_source_plan *counted, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    PK_JSON_CLEANUP json_t *counters = counted ? pk_counters_json(counted) : NULL;
    for (size_t i = 0; i < s->plan->n && !rc && !pk_session_stopped(s); i++) {
        if (!was_timed(s, i) || !has_pass(s, i, pass) || is_over(&s->cases[i], pass, number))
            continue;
        if (!pk_session_has_time_for(s, i)) {
            rc = pk_session_leave_out(s, i, pass, number, err);
            continue;
        }
        struct pk_request r = pk_session_request(s, i);
        r.pass = pass;
        r.invocation = number;
        r.check = false;
        /* Few samples: counts vary less than times, and nothing is concluded from the times. */
        r.stop = (struct pk_stop){.min_samples = 5,
                                  .max_samples = 5,
                                  .max_time_ns = s->opt->stop.max_time_ns,
                                  .max_noise = 1,
                                  .warmup = 1};
        r.counters = counters;
        r.external_counters = s->plan->probe->own ? counted : NULL;
        rc = pk_session_measure_slice(s, i, r, err);
    }
    if (!rc)
        pk_session_quit_workers(s, false);
    return rc;
}

static size_t counter_plans(const struct session *s)
{
    return s->opt->counters ? s->opt->counters->n_plans : 0;
}

size_t pk_session_extra_passes_of(const struct session *s, size_t i)
{
    const struct case_state *t = &s->cases[i];
    size_t n = 0;
    for (size_t k = 0; k < counter_plans(s); k++)
        n += has_pass(s, i, PK_PASS_COUNTER) && !is_over(t, PK_PASS_COUNTER, (int)k + 1);
    n += s->opt->breakdown && has_pass(s, i, PK_PASS_TRACE) && !is_over(t, PK_PASS_TRACE, 1);
    return n + (s->opt->memory && has_pass(s, i, PK_PASS_MEMORY) && !is_over(t, PK_PASS_MEMORY, 1));
}

enum pk_code pk_session_extra_passes(struct session *s, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    s->to_count = 0; /* as far as it is known now */
    for (size_t i = 0; i < s->plan->n; i++)
        s->to_count += was_timed(s, i) ? pk_session_extra_passes_of(s, i) : 0;
    for (size_t k = 0; k < counter_plans(s) && !rc && !pk_session_stopped(s); k++)
        rc = extra_pass(s, PK_PASS_COUNTER, (int)k + 1, &s->opt->counters->plans[k], err);
    if (!rc && s->opt->breakdown && !pk_session_stopped(s))
        rc = extra_pass(s, PK_PASS_TRACE, 1, NULL, err);
    if (!rc && s->opt->memory && !pk_session_stopped(s))
        rc = extra_pass(s, PK_PASS_MEMORY, 1, NULL, err);
    return rc;
}
