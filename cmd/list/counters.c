/* list counters: tables of sources, groups and events; with a pattern, the metrics of the matching groups. */
#include "cmd/list/list.h"

#include "base/text/words.h"
#include "counter/group.h"
#include "counter/source.h"

#include <fnmatch.h>
#include <string.h>

/* An event, and why it is not counted here. */
struct listed {
    struct pk_event event;
    const char *reason; /* NULL = it is */
};

struct lister {
    struct pk_arena *arena;
    struct pk_out *out;
    const char *pattern;
    bool all;
    struct pk_source_found *found; /* of pk_sources */
    struct listed *events;
    size_t n, cap;
    const struct pk_group *groups;
    size_t n_groups;
};

static bool matches(const struct lister *l, const char *name)
{
    return !l->pattern || !fnmatch(l->pattern, name, 0);
}

static bool is_hidden(const struct lister *l, const char *name)
{
    return !l->all && !strncmp(name, "fake", 4);
}

/* --- looking -------------------------------------------------------------------------------------------------------- */

/* The planned events of one name, or why there are none. */
static const char *try_event(const struct lister *l, const struct pk_source *s, struct pk_event *e)
{
    const struct pk_source_plan *plans;
    struct pk_err err;
    size_t n;
    if (s->plan(s, &pk_counter_host, &e->name, 1, l->arena, &plans, &n, &err))
        return pk_strdup(l->arena, err.why);
    *e = plans[0].events[0];
    return NULL;
}

/* What a source that works cannot count is found event by event. */
static void add_unavailable_events(struct lister *l, const struct pk_source *s,
                                   const struct pk_source_found *f)
{
    const struct pk_event *events;
    const size_t n = pk_source_events(s, &pk_counter_host, l->arena, &events);
    for (size_t i = 0; i < n; i++) {
        struct pk_event e = events[i];
        const char *reason = f->state == PK_SOURCE_UNAVAILABLE ? f->why : try_event(l, s, &e);
        l->events = pk_grow(l->arena, l->events, sizeof *l->events, l->n, &l->cap);
        l->events[l->n++] = (struct listed){e, reason};
    }
}

/* --- printing ------------------------------------------------------------------------------------------------------- */

static const struct pk_column source_columns[] = {
    {.key = "name", .heading = "Name", .left = true},
    {.key = "available", .heading = "Here", .left = true, .state = true},
    {.key = "summary", .heading = "What it is", .left = true, .clip = true},
    {.key = "reason", .heading = "Why not", .left = true, .clip = true},
};

static void print_sources(const struct lister *l)
{
    static const char *const here[] = {"yes", "partly", "no"};
    pk_out_table(l->out, "sources", "Sources of readings", PK_COLUMNS(source_columns));
    for (size_t i = 0; pk_sources[i]; i++) {
        const struct pk_source *s = pk_sources[i];
        const struct pk_source_found *f = &l->found[i];
        if (is_hidden(l, s->name) || !matches(l, s->name))
            continue;
        struct pk_row *row = pk_row_begin(l->out);
        pk_put_text(row, "name", s->name);
        pk_put_text(row, "available", here[f->state]);
        pk_put_text(row, "summary", s->summary);
        pk_put_text(row, "reason", f->state == PK_SOURCE_OK ? NULL : f->why);
        pk_row_end(row);
    }
}

static const struct pk_column event_columns[] = {
    {.key = "name", .heading = "Name", .left = true},
    {.key = "source", .heading = "Source", .left = true},
    {.key = "unit", .heading = "Unit", .left = true},
    {.key = "available", .heading = "Here", .left = true, .state = true},
    {.key = "summary", .heading = "What it counts", .left = true, .clip = true},
    {.key = "native", .heading = "Counted as", .left = true, .optional = 1},
    {.key = "modes", .heading = "Modes", .machine = true},
    {.key = "quality", .machine = true, .heading = "Quality"},
    {.key = "note", .heading = "Note", .machine = true},
    {.key = "reason", .heading = "Why not", .left = true, .clip = true},
};

static void print_events(const struct lister *l)
{
    pk_out_table(l->out, "counters", "Events", PK_COLUMNS(event_columns));
    for (size_t i = 0; i < l->n; i++) {
        const struct pk_event *e = &l->events[i].event;
        if (!matches(l, e->name) && !matches(l, e->source))
            continue;
        struct pk_row *row = pk_row_begin(l->out);
        pk_put_text(row, "name", e->name);
        pk_put_text(row, "source", e->source);
        pk_put_text(row, "unit", e->unit);
        pk_put_text(row, "available", l->events[i].reason ? "no" : "yes");
        pk_put_text(row, "summary", e->summary);
        pk_put_text(row, "native", e->native);
        pk_put_text(row, "modes", e->modes);
        pk_put_text(row, "quality", e->quality == PK_QUALITY_EXACT ? "exact" : "approximate");
        pk_put_text(row, "note", e->note);
        pk_put_text(row, "reason", l->events[i].reason);
        pk_row_end(row);
    }
}

/* Of the first event that it needs and is not counted. */
static const char *group_reason(const struct lister *l, const struct pk_group *g)
{
    for (size_t i = 0; i < g->n_required; i++) {
        size_t k = 0;
        while (k < l->n && strcmp(l->events[k].event.name, g->events[i]) != 0)
            k++;
        const char *why = k < l->n ? l->events[k].reason : "this build of perfkit has no source for it";
        if (why)
            return pk_printf(l->arena, "%s: %s", g->events[i], why);
    }
    return NULL;
}

static const struct pk_column group_columns[] = {
    {.key = "name", .heading = "Name", .left = true},
    {.key = "available", .heading = "Here", .left = true, .state = true},
    {.key = "title", .heading = "Summary", .left = true, .clip = true},
    {.key = "events", .heading = "Events", .left = true, .clip = true, .optional = 1},
    {.key = "reason", .heading = "Why not", .left = true, .clip = true},
};

static void print_groups(const struct lister *l)
{
    pk_out_table(l->out, "groups", "Groups", PK_COLUMNS(group_columns));
    for (size_t i = 0; i < l->n_groups; i++) {
        const struct pk_group *g = &l->groups[i];
        if (is_hidden(l, g->name) || !matches(l, g->name))
            continue;
        const char *reason = group_reason(l, g);
        struct pk_row *row = pk_row_begin(l->out);
        pk_put_text(row, "name", g->name);
        pk_put_text(row, "available", reason ? "no" : "yes");
        pk_put_text(row, "title", g->title);
        pk_put_text(row, "events", pk_list(g->events, g->n_events, " ", l->arena));
        pk_put_text(row, "reason", reason);
        pk_row_end(row);
    }
}

static const struct pk_column metric_columns[] = {
    {.key = "group", .heading = "Group", .left = true},
    {.key = "name", .heading = "Metric", .left = true},
    {.key = "unit", .heading = "Unit", .left = true},
    {.key = "formula", .heading = "Formula", .left = true},
    {.key = "summary", .heading = "What it is", .left = true},
};

static void print_metrics(const struct lister *l)
{
    bool begun = false;
    for (size_t i = 0; i < l->n_groups; i++) {
        const struct pk_group *g = &l->groups[i];
        if (is_hidden(l, g->name) || !matches(l, g->name))
            continue;
        if (!begun)
            pk_out_table(l->out, "metrics", "Metrics derived from them", PK_COLUMNS(metric_columns));
        begun = true;
        for (size_t k = 0; k < g->n_metrics; k++) {
            struct pk_row *row = pk_row_begin(l->out);
            pk_put_text(row, "group", g->name);
            pk_put_text(row, "name", g->metrics[k].name);
            pk_put_text(row, "unit", g->metrics[k].unit);
            pk_put_text(row, "formula", g->metrics[k].formula->text);
            pk_put_text(row, "summary", g->metrics[k].summary);
            pk_row_end(row);
        }
        pk_out_note(l->out, pk_printf(l->arena, "%s: %s", g->name, g->help));
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------------ */

static enum pk_code none_matches(const struct lister *l, struct pk_err *err)
{
    const char **names = pk_new_n(l->arena, const char *, l->n_groups + l->n);
    for (size_t i = 0; i < l->n_groups; i++)
        names[i] = l->groups[i].name;
    for (size_t i = 0; i < l->n; i++)
        names[l->n_groups + i] = l->events[i].event.name;
    const char *near = pk_suggest(l->pattern, names, l->n_groups + l->n);
    pk_fail(err, PK_E_USAGE, "perfkit list counters: nothing matches '%.100s'", l->pattern);
    pk_why(err, "no group, event or source has such a name");
    return near ? pk_fix(err, "did you mean '%s'?", near)
                : pk_fix(err, "use a pattern like 'cpu-*', or none to list all");
}

/* Everything that is not hidden, matching or not: groups need to know of their events. True when something matches. */
static bool survey(struct lister *l)
{
    size_t n = 0;
    bool any = false;
    while (pk_sources[n])
        n++;
    l->found = pk_new_n(l->arena, struct pk_source_found, n);
    for (size_t i = 0; i < n; i++) {
        l->found[i] = pk_sources[i]->check(pk_sources[i], &pk_counter_host, l->arena);
        if (is_hidden(l, pk_sources[i]->name))
            continue;
        add_unavailable_events(l, pk_sources[i], &l->found[i]);
        any |= matches(l, pk_sources[i]->name);
    }
    for (size_t i = 0; i < l->n; i++)
        any |= matches(l, l->events[i].event.name);
    for (size_t i = 0; i < l->n_groups; i++)
        any |= !is_hidden(l, l->groups[i].name) && matches(l, l->groups[i].name);
    return any;
}

enum pk_code pk_list_counters(struct pk_app *app, const char *pattern, bool all, struct pk_err *err)
{
    struct lister l = {.arena = app->arena, .out = app->out, .pattern = pattern, .all = all};
    l.n_groups = pk_groups(app->arena, &l.groups);
    if (!survey(&l))
        return none_matches(&l, err);
    print_sources(&l);
    print_groups(&l);
    if (!pattern) { /* what can be counted is the outcome */
        pk_out_fit(l.out);
        pk_out_detail(l.out, true);
    }
    print_events(&l);
    if (pattern)
        print_metrics(&l);
    return PK_OK;
}
