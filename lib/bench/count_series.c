/* Count series: how well each event was counted, and its series. */
#include "bench/count_series.h"

#include <math.h>

/* An event's counts, over all samples. */
struct event_summary {
    size_t n, unavailable;
    bool real;
    const char *why;      /* of the last unavailable one */
    double counted_share; /* of the time, where that was least; below 1: scaled to the whole */
};

static struct event_summary summary_of(const struct pk_counts *c, size_t event)
{
    struct event_summary summary = {.n = c->n, .counted_share = 1};
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_reading *r = &c->at[i][event];
        summary.unavailable += r->unavailable;
        summary.real |= r->is_real || r->unavailable;
        summary.why = r->unavailable ? r->why : summary.why;
        if (!r->unavailable && r->running_ns < r->enabled_ns)
            summary.counted_share =
                fmin(summary.counted_share, (double)r->running_ns / (double)r->enabled_ns);
    }
    return summary;
}

static struct pk_series series_of(const struct pk_counts *c, size_t event, bool real, struct pk_arena *a)
{
    int64_t *integer = real ? NULL : pk_new_n(a, int64_t, c->n);
    double *reals = real ? pk_new_n(a, double, c->n) : NULL;
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_reading *r = &c->at[i][event];
        if (integer)
            integer[i] = r->integer;
        else
            reals[i] = r->unavailable ? NAN : r->is_real ? r->real : (double)r->integer;
    }
    return (struct pk_series){.phase = PK_PHASE_STEADY,
                              .reps = c->plan->events[event].kind == PK_EVENT_SUM ? c->reps : 1,
                              .n = c->n,
                              .ordinal = c->ordinals,
                              .integer = integer,
                              .real = reals};
}

static json_t *event_json(const struct pk_event *e, const struct event_summary *summary)
{
    json_t *j = json_pack("{s:s, s:s}", "native", e->native, "quality",
                          e->quality == PK_QUALITY_EXACT ? "exact" : "approximate");
    if (*e->note)
        json_object_set_new(j, "note", json_string(e->note));
    if (summary->unavailable)
        json_object_set_new(j, "absent", json_integer((json_int_t)summary->unavailable));
    if (summary->why)
        json_object_set_new(j, "why", json_string(summary->why));
    if (summary->counted_share < 1)
        json_object_set_new(j, "scaled_from", json_real(summary->counted_share));
    if (*e->modes)
        json_object_set_new(j, "modes", json_string(e->modes));
    return j;
}

json_t *pk_counts_add(const struct pk_counts *places, size_t n_places, const struct pk_source_plan *plan,
                      struct pk_arena *a, struct pk_slice *out)
{
    json_t *events = json_object();
    struct pk_metric_decl *metrics = pk_new_n(a, struct pk_metric_decl, out->n_metrics + n_places * plan->n);
    struct pk_series *series = pk_new_n(a, struct pk_series, out->n_series + n_places * plan->n);
    for (size_t i = 0; i < out->n_metrics; i++)
        metrics[i] = out->metrics[i];
    for (size_t i = 0; i < out->n_series; i++)
        series[i] = out->series[i];
    for (size_t e = 0; e < plan->n; e++) {
        const struct pk_event *event = &plan->events[e];
        struct event_summary all = {.counted_share = 1};
        for (size_t p = 0; p < n_places; p++) {
            const struct event_summary summary = summary_of(&places[p], e);
            all.unavailable = summary.unavailable > all.unavailable ? summary.unavailable : all.unavailable;
            all.why = summary.why ? summary.why : all.why;
            all.counted_share = fmin(all.counted_share, summary.counted_share);
            if (summary.unavailable == summary.n)
                continue;
            metrics[out->n_metrics] =
                (struct pk_metric_decl){pk_printf(a, "%s.%s", places[p].where, event->name),
                                        event->unit,
                                        "none",
                                        "rate",
                                        "median",
                                        "sum",
                                        "counter"};
            series[out->n_series] = series_of(&places[p], e, summary.real, a);
            series[out->n_series++].metric = out->n_metrics++;
        }
        json_object_set_new(events, event->name, event_json(event, &all));
    }
    out->metrics = metrics;
    out->series = series;
    return json_pack("{s:s, s:i, s:o}", "source", plan->source->name, "passes", (int)plan->passes, "events",
                     events);
}
