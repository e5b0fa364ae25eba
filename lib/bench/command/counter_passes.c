/* Counter passes: plans to requests, requests to plans, readings to series. */
#include "bench/command/counter_passes.h"

#include "bench/worker/request.h"

#include <string.h>

/* --- asking --------------------------------------------------------------------------------------------------------- */

size_t pk_counter_pass_of_plan(const struct pk_counters *c, size_t plan)
{
    size_t before = 0;
    for (size_t i = 0; i < plan; i++)
        before +=
            c->plans[i].source == c->plans[plan].source &&
            (!c->plans[i].unit || !c->plans[plan].unit || !strcmp(c->plans[i].unit, c->plans[plan].unit));
    return before;
}

size_t pk_counter_pass_count(const struct pk_counters *c)
{
    size_t rounds = 0;
    for (size_t i = 0; i < c->n_plans; i++)
        if (pk_counter_pass_of_plan(c, i) >= rounds)
            rounds = pk_counter_pass_of_plan(c, i) + 1;
    return rounds;
}

json_t *pk_counter_pass_request(const struct pk_counters *c, size_t round)
{
    json_t *all = json_array();
    for (size_t i = 0; i < c->n_plans; i++)
        if (pk_counter_pass_of_plan(c, i) == round)
            json_array_append_new(all, pk_counters_json(&c->plans[i]));
    return all;
}

/* --- counting ------------------------------------------------------------------------------------------------------- */

static void set_unavailable(struct pk_counter_pass *c, struct pk_counter_pass_plan *p,
                            const struct pk_err *err)
{
    p->why = pk_strdup(c->arena, *err->why ? err->why : err->what);
}

/* Planned here as the parent planned it: what differs is refused by the kernel in the same words. */
static enum pk_code plan_one(struct pk_counter_pass *c, const json_t *request, struct pk_counter_pass_plan *p,
                             struct pk_err *err)
{
    struct pk_counters_named named;
    struct pk_err cause;
    size_t n_plans;
    if (pk_counters_named(request, c->arena, &named, err))
        return err->code;
    if (!named.source || !named.source->open_other || !named.n)
        return pk_fail(err, PK_E_USAGE, "this perfkit cannot count a command by '%.100s'",
                       pk_json_str(request, "source", ""));
    struct pk_event *events = pk_new_n(c->arena, struct pk_event, named.n);
    for (size_t i = 0; i < named.n; i++)
        events[i] = (struct pk_event){.name = named.events[i]};
    p->v = pk_new_n(c->arena, struct pk_reading, named.n);
    if (named.source->plan(named.source, c->env, named.events, named.n, c->arena, &p->plan, &n_plans,
                           &cause)) {
        set_unavailable(c, p, &cause);
        struct pk_source_plan *none = pk_new(c->arena, struct pk_source_plan);
        *none = (struct pk_source_plan){.source = named.source, .events = events, .n = named.n};
        p->plan = none;
    } else if (n_plans != 1)
        return pk_fail(err, PK_E_USAGE, "%zu events of %s cannot be counted at once", named.n,
                       named.source->name);
    return PK_OK;
}

enum pk_code pk_counter_pass_prepare(struct pk_counter_pass *c, const json_t *request, struct pk_err *err)
{
    c->n = json_array_size(request);
    c->plans = pk_new_n(c->arena, struct pk_counter_pass_plan, c->n + 1);
    for (size_t i = 0; i < c->n; i++)
        if (plan_one(c, json_array_get(request, i), &c->plans[i], err))
            return err->code;
    return PK_OK;
}

void pk_counter_pass_open(struct pk_counter_pass *c, pid_t pid)
{
    for (struct pk_counter_pass_plan *p = c->plans; p < c->plans + c->n; p++) {
        struct pk_err err;
        if (p->why)
            continue;
        if (p->plan->source->open_other(c->env, p->plan, (struct pk_other_process){.pid = pid}, c->arena,
                                        &p->handle, &err)) {
            set_unavailable(c, p, &err);
            p->handle = NULL;
        } else if (p->plan->source->start(p->handle, &err))
            set_unavailable(c, p, &err);
    }
}

void pk_counter_pass_end(struct pk_counter_pass *c)
{
    bool again;
    for (struct pk_counter_pass_plan *p = c->plans; p < c->plans + c->n; p++) {
        const struct pk_source *s = p->plan->source;
        struct pk_err err;
        if (!p->handle)
            continue;
        if (!p->why && (s->stop(p->handle, &again, &err) || s->read(p->handle, -1, p->v, &err)))
            set_unavailable(c, p, &err);
        pk_source_close(s, p->handle);
        p->handle = NULL;
    }
}

/* --- telling -------------------------------------------------------------------------------------------------------- */

struct counted_series {
    struct pk_metric_decl *metrics;
    struct pk_series *series;
    size_t n;
};

struct pk_slice pk_counter_pass_slice(const struct pk_counter_pass *c, int invocation, uint64_t ran_ns)
{
    struct pk_note *note = pk_new(c->arena, struct pk_note);
    struct counted_series k = {0};
    PK_JSON_CLEANUP json_t *events = json_object(), *counters = NULL;
    const char *message = "no event was requested";
    size_t most = 0;
    for (size_t i = 0; i < c->n; i++)
        most += c->plans[i].plan->n;
    k.metrics = pk_new_n(c->arena, struct pk_metric_decl, most + 1);
    k.series = pk_new_n(c->arena, struct pk_series, most + 1);
    for (size_t i = 0; i < c->n; i++)
        for (size_t e = 0; e < c->plans[i].plan->n; e++) {
            const struct pk_event *event = &c->plans[i].plan->events[e];
            const struct pk_reading *r = &c->plans[i].v[e];
            const char *why = c->plans[i].why   ? c->plans[i].why
                              : !r->unavailable ? NULL
                              : r->why          ? r->why
                                                : "it was never scheduled on a counter";
            if (why)
                message = why;
            else {
                static const int64_t ordinal = 0;
                k.metrics[k.n] = (struct pk_metric_decl){event->name, event->unit, "none",   "rate",
                                                         "median",    "sum",       "counter"};
                k.series[k.n] = (struct pk_series){.metric = k.n,
                                                   .phase = PK_PHASE_STEADY,
                                                   .reps = 1,
                                                   .n = 1,
                                                   .ordinal = &ordinal,
                                                   .integer = r->is_real ? NULL : &r->integer,
                                                   .real = r->is_real ? &r->real : NULL};
                k.n++;
            }
            json_t *j = json_object();
            if (why)
                json_object_set_new(j, "why", json_string(why));
            else if (r->running_ns < r->enabled_ns)
                json_object_set_new(j, "scaled_from",
                                    json_real((double)r->running_ns / (double)r->enabled_ns));
            json_object_set_new(events, event->name, j);
        }
    counters = json_pack("{s:I, s:O}", "ran_ns", (json_int_t)ran_ns, "events", events);
    *note = (struct pk_note){"counters", pk_json_text(c->arena, counters, PK_JSON_COMPACT)};
    return (struct pk_slice){.pass = PK_PASS_COUNTER,
                             .invocation = invocation,
                             .status = k.n ? PK_ST_OK : PK_ST_SKIPPED,
                             .message = k.n ? "" : message,
                             .n_metrics = k.n,
                             .metrics = k.metrics,
                             .n_series = k.n,
                             .series = k.series,
                             .n_notes = 1,
                             .notes = note};
}
