/* Select: names to groups and events, events to sources, sources to plans. */
#include "counter/select.h"

#include "base/text/words.h"

#include <math.h>
#include <string.h>

/* Events that are planned together: those of a group, or those requested separately. */
struct bundle {
    const struct pk_group *group; /* NULL = by themselves */
    const char **names;
    const struct pk_source **sources; /* NULL = no source of this build counts it */
    size_t n, cap, required;
};

struct selection {
    const struct pk_counter_env *env;
    struct pk_arena *arena;
    struct pk_counters *out;
    bool other; /* counted is a process that is not ours */
    const struct pk_group *groups;
    size_t n_groups;
    struct bundle loose;
    struct pk_source_plan *plans;
    struct pk_counter_metric *metrics;
    struct pk_unavailable_counter *missing;
    size_t plans_cap, metrics_cap, missing_cap;
};

/* --- names ---------------------------------------------------------------------------------------------------------- */

static const struct pk_source *listing(const struct selection *s, const char *event)
{
    for (const struct pk_source *const *src = pk_sources; *src; src++) {
        const struct pk_event *events;
        const size_t n = pk_source_events(*src, s->env, s->arena, &events);
        for (size_t i = 0; i < n; i++)
            if (!strcmp(events[i].name, event))
                return *src;
    }
    return NULL;
}

/* Raw names are in no list: a source that plans one, or says why it cannot, knows it. */
static const struct pk_source *understanding(const struct selection *s, const char *event)
{
    for (const struct pk_source *const *src = pk_sources; *src; src++) {
        const struct pk_source_plan *plans;
        struct pk_err err;
        size_t n;
        if ((*src)->plan(*src, s->env, &event, 1, s->arena, &plans, &n, &err) != PK_E_USAGE)
            return *src;
    }
    return NULL;
}

static enum pk_code unknown(const struct selection *s, const char *name, struct pk_err *err)
{
    const char **names = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < s->n_groups; i++) {
        names = pk_grow(s->arena, names, sizeof *names, n, &cap);
        names[n++] = s->groups[i].name;
    }
    for (const struct pk_source *const *src = pk_sources; *src; src++) {
        const struct pk_event *events;
        const size_t k = pk_source_events(*src, s->env, s->arena, &events);
        for (size_t i = 0; i < k; i++) {
            names = pk_grow(s->arena, names, sizeof *names, n, &cap);
            names[n++] = events[i].name;
        }
    }
    const char *near = pk_suggest(name, names, n);
    pk_fail(err, PK_E_USAGE, "--counters: unknown group or event '%.100s'", name);
    pk_why(err, "it is not a group, an event of a source, or a name that a source understands");
    return near ? pk_fix(err, "did you mean '%s'?", near)
                : pk_fix(err, "`perfkit list counters` shows what is available");
}

static void add_name(const struct selection *s, struct bundle *b, const char *name,
                     const struct pk_source *src)
{
    if (b->n == b->cap) {
        size_t same = b->cap;
        b->sources = pk_grow(s->arena, b->sources, sizeof *b->sources, b->n, &same);
        b->names = pk_grow(s->arena, b->names, sizeof *b->names, b->n, &b->cap);
    }
    b->names[b->n] = name;
    b->sources[b->n++] = src;
}

/* --- plans ---------------------------------------------------------------------------------------------------------- */

/* True if the event can be counted here; else adds it to the missing counters, or its group if the group requires it. */
static bool countable(struct selection *s, const struct bundle *b, size_t i)
{
    const struct pk_source *src = b->sources[i];
    const struct pk_source_plan *plans;
    struct pk_counters *out = s->out;
    struct pk_unavailable_counter missing = {.name = b->names[i]};
    struct pk_err err;
    size_t n;
    if (!src)
        missing.why = "this build of perfkit has no source for it";
    else if (s->other && !src->open_other)
        missing.why = src->ours;
    else if (!src->plan(src, s->env, &b->names[i], 1, s->arena, &plans, &n, &err))
        return true;
    else {
        missing.why = pk_strdup(s->arena, err.why);
        missing.fix = *err.fix ? pk_strdup(s->arena, err.fix) : NULL;
    }
    if (i < b->required) {
        missing.name = b->group->name;
        missing.why = pk_printf(s->arena, "%s: %s", b->names[i], missing.why);
    }
    s->missing = pk_grow(s->arena, s->missing, sizeof *s->missing, out->n_missing, &s->missing_cap);
    s->missing[out->n_missing++] = missing;
    return false;
}

static struct pk_metric_input input_of(const struct selection *s, const char *name, size_t first_plan)
{
    for (size_t p = first_plan; p < s->out->n_plans; p++)
        for (size_t e = 0; e < s->plans[p].n; e++)
            if (!strcmp(s->plans[p].events[e].name, name))
                return (struct pk_metric_input){PK_INPUT_COUNT, p, e};
    for (size_t g = 0; g < PK_GIVENS; g++)
        if (!strcmp(pk_given_names[g], name))
            return (struct pk_metric_input){PK_INPUT_GIVEN, 0, g};
    return (struct pk_metric_input){PK_INPUT_MISSING, 0, 0};
}

/* Whether work that is done again, and never quite the same, comes between two of its counts. */
static const char *different_passes(const struct selection *s, const struct pk_formula *f,
                                    const struct pk_metric_input *inputs)
{
    const struct pk_metric_input *first = NULL;
    for (size_t k = 0; k < f->n_names; k++) {
        const struct pk_metric_input *in = &inputs[k];
        if (in->kind != PK_INPUT_COUNT)
            continue;
        if (!first) {
            first = in;
            continue;
        }
        const char *a = s->plans[first->plan].events[first->event].name, *b = f->names[k];
        if (in->plan != first->plan)
            return pk_printf(s->arena, "%s and %s were counted in different passes", a, b);
        if (s->plans[in->plan].passes > 1)
            return pk_printf(s->arena, "%s and %s were counted in %u replays of the work", a, b,
                             s->plans[in->plan].passes);
    }
    return "";
}

/* True if the formula uses a count and no value that a command lacks: a command has no declared work. */
static bool follows(const struct pk_metric_input *inputs, size_t n)
{
    bool counts = false;
    for (size_t k = 0; k < n; k++) {
        if (inputs[k].kind == PK_INPUT_MISSING ||
            (inputs[k].kind == PK_INPUT_GIVEN && inputs[k].event > PK_GIVEN_PASS_NS))
            return false;
        counts |= inputs[k].kind == PK_INPUT_COUNT;
    }
    return counts;
}

/* all: those too that cannot be known here. */
static void add_metrics(struct selection *s, const struct pk_group *g, size_t first_plan, bool all)
{
    struct pk_counters *out = s->out;
    for (size_t i = 0; i < g->n_metrics; i++) {
        const struct pk_group_metric *m = &g->metrics[i];
        struct pk_metric_input *inputs = pk_new_n(s->arena, struct pk_metric_input, m->formula->n_names);
        for (size_t k = 0; k < m->formula->n_names; k++)
            inputs[k] = input_of(s, m->formula->names[k], first_plan);
        if (!all && !follows(inputs, m->formula->n_names))
            continue;
        s->metrics = pk_grow(s->arena, s->metrics, sizeof *s->metrics, out->n_metrics, &s->metrics_cap);
        s->metrics[out->n_metrics++] = (struct pk_counter_metric){g->name,
                                                                  m->name,
                                                                  m->unit,
                                                                  m->summary,
                                                                  m->formula,
                                                                  inputs,
                                                                  different_passes(s, m->formula, inputs)};
    }
}

/* "cycles@cpu_atom" of "cycles": a command runs where it likes. */
static void add_twins(const struct selection *s, struct bundle *b)
{
    for (size_t i = 0, n = b->n; i < n; i++) {
        const struct pk_event *events;
        const struct pk_source *src = b->sources[i];
        const size_t listed = pk_source_events(src, s->env, s->arena, &events), stem = strlen(b->names[i]);
        for (size_t e = 0; e < listed; e++)
            if (!strncmp(events[e].name, b->names[i], stem) && events[e].name[stem] == '@')
                add_name(s, b, events[e].name, src);
    }
}

/* Drops what cannot be counted here, and plans the rest. */
static enum pk_code plan_bundle(struct selection *s, const struct bundle *wanted, struct pk_err *err)
{
    struct bundle b = {.group = wanted->group};
    const size_t first_plan = s->out->n_plans;
    for (size_t i = 0; i < wanted->n; i++)
        if (countable(s, wanted, i))
            add_name(s, &b, wanted->names[i], wanted->sources[i]);
        else if (i < wanted->required)
            return PK_OK;
    if (s->other)
        add_twins(s, &b);
    const char **names = pk_new_n(s->arena, const char *, b.n);
    for (const struct pk_source *const *src = pk_sources; *src; src++) { /* its events, all at once */
        const struct pk_source_plan *plans;
        size_t n = 0, n_plans = 0;
        for (size_t i = 0; i < b.n; i++)
            if (b.sources[i] == *src)
                names[n++] = b.names[i];
        if (n && (*src)->plan(*src, s->env, names, n, s->arena, &plans, &n_plans, err))
            return err->code;
        for (size_t i = 0; i < n_plans; i++) {
            s->plans = pk_grow(s->arena, s->plans, sizeof *s->plans, s->out->n_plans, &s->plans_cap);
            s->plans[s->out->n_plans++] = plans[i];
        }
    }
    if (b.group)
        add_metrics(s, b.group, first_plan, true);
    return PK_OK;
}

static enum pk_code take_name(struct selection *s, const char *name, struct pk_err *err)
{
    for (const struct pk_group *g = s->groups; g < s->groups + s->n_groups; g++)
        if (!strcmp(g->name, name)) {
            struct bundle b = {.group = g, .required = g->n_required};
            for (size_t i = 0; i < g->n_events; i++)
                add_name(s, &b, g->events[i], listing(s, g->events[i]));
            return plan_bundle(s, &b, err);
        }
    const struct pk_source *src = pk_source_find(name);
    if (src) {
        const struct pk_event *events;
        const size_t n = pk_source_events(src, s->env, s->arena, &events);
        for (size_t i = 0; i < n; i++)
            add_name(s, &s->loose, events[i].name, src);
        return PK_OK;
    }
    src = listing(s, name);
    if (!src)
        src = understanding(s, name);
    if (!src)
        return unknown(s, name, err);
    add_name(s, &s->loose, name, src);
    return PK_OK;
}

#define USUAL                                                                                                \
    "task_clock_ns,page_faults,context_switches,cpu_migrations,cycles,instructions,branches,branch_misses,"  \
    "llc_misses"

enum pk_code pk_counters_select(const struct pk_counter_env *env, const char *text, bool other,
                                struct pk_arena *a, struct pk_counters *out, struct pk_err *err)
{
    struct selection s = {.env = env, .arena = a, .out = out, .other = other};
    const char **seen = NULL, *rest = text ? text : USUAL;
    size_t n = 0, cap = 0;
    *out = (struct pk_counters){0};
    s.n_groups = pk_groups(a, &s.groups);
    for (const char *name; (name = pk_next_part(&rest, ',', a));) {
        if (!*name) {
            pk_fail(err, PK_E_USAGE, "--counters: a name is empty");
            pk_why(err, "groups and events are separated by single commas");
            return pk_fix(err, "--counters cpu-basic,page_faults");
        }
        for (size_t i = 0; i < n; i++)
            if (!strcmp(seen[i], name)) {
                pk_fail(err, PK_E_USAGE, "--counters: '%.100s' is given twice", name);
                pk_why(err, "it can be counted only once");
                return pk_fix(err, "remove one");
            }
        seen = pk_grow(a, seen, sizeof *seen, n, &cap);
        seen[n++] = name;
        if (take_name(&s, name, err))
            return err->code;
    }
    if (plan_bundle(&s, &s.loose, err))
        return err->code;
    for (size_t i = 0; !text && i < s.n_groups; i++)
        add_metrics(&s, &s.groups[i], 0, false);
    out->plans = s.plans;
    out->metrics = s.metrics;
    out->missing = s.missing;
    return PK_OK;
}

double pk_counter_metric_value(const struct pk_counter_metric *m, const double *const *counts,
                               const double *given, struct pk_arena *a, const char **missing)
{
    double *values = pk_new_n(a, double, m->formula->n_names);
    for (size_t i = 0; i < m->formula->n_names; i++) {
        const struct pk_metric_input *in = &m->inputs[i];
        values[i] = in->kind == PK_INPUT_GIVEN                       ? given[in->event]
                    : in->kind == PK_INPUT_COUNT && counts[in->plan] ? counts[in->plan][in->event]
                                                                     : NAN;
    }
    return pk_formula_value(m->formula, values, a, missing);
}
