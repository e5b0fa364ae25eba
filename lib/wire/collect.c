/* Collect: from messages to a slice. Samples of one (metric, rank, instance, phase, reps) become one series, which is found by a hash
 * table: a program that writes one value per line costs no more than one that batches. */
#include "wire/wire.h"

#include "base/index.h"

#include <string.h>

/* A series that grows. `integer` turns into `real` when the first value comes that is not an integer. */
struct series_buffer {
    size_t metric;
    int rank, instance;
    enum pk_phase phase;
    int64_t reps;
    size_t n, ordinal_cap, value_cap;
    int64_t *ordinal, *integer;
    double *real;
};

/* What goes on from one series to another: the ordinals of one metric, rank, instance and number of repetitions. */
struct sequence {
    size_t metric;
    int rank, instance;
    int64_t reps;
    size_t series[PK_PHASES]; /* index + 1 of each phase's; 0 = none yet */
};

/* What a reply has so far. */
struct totals {
    size_t values, series, settings, text;
};

struct pk_collector {
    struct pk_arena own;          /* this struct */
    struct totals reply, *totals; /* totals: its own, or those of the first collector of the reply */
    struct pk_arena a;            /* the slice */
    struct pk_slice slice;
    bool complete;
    struct pk_metric_decl *metrics;
    struct series_buffer *series;
    struct sequence *sequences;
    struct pk_index index; /* of sequences */
    struct pk_note *notes;
    size_t n_metrics, metrics_cap, n_series, series_cap, n_notes, notes_cap, n_sequences, sequences_cap;
};

struct pk_collector *pk_collector_new(void)
{
    struct pk_arena own = {0};
    struct pk_collector *c = pk_new(&own, struct pk_collector);
    c->own = own;
    c->totals = &c->reply;
    pk_collector_reset(c);
    return c;
}

void pk_collector_join(struct pk_collector *c, struct pk_collector *first)
{
    c->totals = first->totals;
}

void pk_collector_free(struct pk_collector *c)
{
    if (!c)
        return;
    pk_arena_free(&c->a);
    struct pk_arena own = c->own; /* c lives in it */
    pk_arena_free(&own);
}

void pk_collector_reset(struct pk_collector *c)
{
    pk_arena_free(&c->a);
    *c = (struct pk_collector){.own = c->own,
                               .totals = c->totals,
                               .index = {.arena = &c->a},
                               .slice = {.message = "", .status = PK_ST_FAILED}};
}

static bool same_sequence(const void *collector, uint32_t row)
{
    const struct pk_collector *c = collector;
    const struct sequence *a = &c->sequences[row], *b = &c->sequences[c->n_sequences];
    return a->metric == b->metric && a->rank == b->rank && a->instance == b->instance && a->reps == b->reps;
}

static struct sequence *sequence_of(struct pk_collector *c, size_t metric, const struct pk_series *from)
{
    c->sequences = pk_grow(&c->a, c->sequences, sizeof *c->sequences, c->n_sequences, &c->sequences_cap);
    c->sequences[c->n_sequences] = (struct sequence){metric, from->rank, from->instance, from->reps, {0}};
    const uint64_t place =
        pk_hash(pk_hash(pk_hash(0, metric), (uint64_t)from->rank), (uint64_t)from->instance);
    const uint32_t row = pk_index_row(&c->index, pk_hash(place, (uint64_t)from->reps), same_sequence, c,
                                      (uint32_t)c->n_sequences);
    c->n_sequences += row == c->n_sequences;
    return &c->sequences[row];
}

static int metric_index(const struct pk_collector *c, const char *name)
{
    for (size_t i = c->n_metrics; i-- > 0;)
        if (!strcmp(c->metrics[i].name, name))
            return (int)i;
    return -1;
}

/* The ordinal after the last of a sequence, in any phase. */
static int64_t next_ordinal(const struct pk_collector *c, const struct sequence *q)
{
    int64_t next = 0;
    for (int phase = 0; phase < PK_PHASES; phase++) {
        const struct series_buffer *s = q->series[phase] ? &c->series[q->series[phase] - 1] : NULL;
        if (s && s->ordinal[s->n - 1] >= next)
            next = s->ordinal[s->n - 1] + 1;
    }
    return next;
}

static void append(struct pk_collector *c, struct series_buffer *s, const struct pk_series *from,
                   int64_t ordinal)
{
    if (from->real && !s->real) {
        s->real = pk_new_n(&c->a, double, s->value_cap);
        for (size_t i = 0; i < s->n; i++)
            s->real[i] = (double)s->integer[i];
        s->integer = NULL;
    }
    for (size_t i = 0; i < from->n; i++) {
        s->ordinal = pk_grow(&c->a, s->ordinal, sizeof *s->ordinal, s->n, &s->ordinal_cap);
        s->ordinal[s->n] = ordinal + (int64_t)i;
        if (s->real) {
            s->real = pk_grow(&c->a, s->real, sizeof *s->real, s->n, &s->value_cap);
            s->real[s->n] = from->real ? from->real[i] : (double)from->integer[i];
        } else {
            s->integer = pk_grow(&c->a, s->integer, sizeof *s->integer, s->n, &s->value_cap);
            s->integer[s->n] = from->integer[i];
        }
        s->n++;
    }
    c->totals->values += from->n;
}

static const char *add_samples(struct pk_collector *c, const struct pk_wire_msg *msg)
{
    int metric = metric_index(c, msg->samples_metric);
    if (metric < 0)
        return pk_printf(&c->a, "samples of the metric \"%s\", which was not declared", msg->samples_metric);
    const struct pk_series *from = &msg->series;
    if (from->n > PK_REPLY_VALUES_MAX - c->totals->values)
        return "more than 16777216 values in one reply";
    if (c->totals->series == PK_REPLY_SERIES_MAX)
        return "more than 131072 series in one reply";
    if (!from->n)
        return NULL;
    struct sequence *q = sequence_of(c, (size_t)metric, from);
    const int64_t ordinal = msg->samples_ordinal >= 0 ? msg->samples_ordinal : next_ordinal(c, q);
    if (!q->series[from->phase]) {
        c->series = pk_grow(&c->a, c->series, sizeof *c->series, c->n_series, &c->series_cap);
        c->series[c->n_series] = (struct series_buffer){.metric = (size_t)metric,
                                                        .rank = from->rank,
                                                        .instance = from->instance,
                                                        .phase = from->phase,
                                                        .reps = from->reps};
        q->series[from->phase] = ++c->n_series;
        c->totals->series++;
    }
    append(c, &c->series[q->series[from->phase] - 1], from, ordinal);
    return NULL;
}

/* Counts texts that are kept. NULL, or the problem. */
static const char *count_text(struct pk_collector *c, const char *const *texts, size_t n)
{
    enum { PER_TEXT = 16 }; /* where it is kept */
    for (size_t i = 0; i < n; i++)
        c->totals->text += strlen(texts[i]) + PER_TEXT;
    return c->totals->text > PK_REPLY_TEXT_MAX ? "more than 64 MiB of text in one reply" : NULL;
}

static const char *add_metric(struct pk_collector *c, const struct pk_metric_decl *d)
{
    const int declared = metric_index(c, d->name);
    if (declared >= 0) {
        const struct pk_metric_decl *m = &c->metrics[declared];
        const bool same = !strcmp(m->unit, d->unit) && !strcmp(m->direction, d->direction) &&
                          !strcmp(m->class, d->class) && !strcmp(m->combine, d->combine) &&
                          !strcmp(m->ranks, d->ranks);
        return same ? NULL
                    : pk_printf(&c->a, "the metric \"%s\" declared twice with different properties", d->name);
    }
    if (c->n_metrics == PK_SLICE_METRICS_MAX)
        return "more than 1024 metrics for one case";
    const char *problem = count_text(
        c, (const char *[]){d->name, d->unit, d->direction, d->class, d->combine, d->ranks, d->source}, 7);
    if (problem)
        return problem;
    c->metrics = pk_grow(&c->a, c->metrics, sizeof *c->metrics, c->n_metrics, &c->metrics_cap);
    c->metrics[c->n_metrics++] = (struct pk_metric_decl){
        .name = pk_strdup(&c->a, d->name),
        .unit = pk_strdup(&c->a, d->unit),
        .direction = pk_strdup(&c->a, d->direction),
        .class = pk_strdup(&c->a, d->class),
        .combine = pk_strdup(&c->a, d->combine),
        .ranks = pk_strdup(&c->a, d->ranks),
        .source = pk_strdup(&c->a, d->source),
    };
    return NULL;
}

static const char *add(struct pk_collector *c, const struct pk_wire_msg *msg)
{
    const enum pk_wire_type t = msg->type;
    struct pk_slice *s = &c->slice;
    const char *problem;
    if (c->complete && (t == PK_WIRE_METRIC || t == PK_WIRE_SAMPLES || t == PK_WIRE_NOTE ||
                        t == PK_WIRE_FIT || t == PK_WIRE_STATUS))
        return "a message after the status that ended the case";
    switch (t) {
    case PK_WIRE_METRIC:
        return add_metric(c, &msg->metric);
    case PK_WIRE_SAMPLES:
        return add_samples(c, msg);
    case PK_WIRE_NOTE:
    case PK_WIRE_FIT:
        if (c->n_notes == PK_SLICE_NOTES_MAX)
            return "more than 4096 notes for one case";
        if ((problem = count_text(c, (const char *[]){msg->key, msg->text}, 2)))
            return problem;
        c->notes = pk_grow(&c->a, c->notes, sizeof *c->notes, c->n_notes, &c->notes_cap);
        c->notes[c->n_notes++] = (struct pk_note){pk_strdup(&c->a, msg->key), pk_strdup(&c->a, msg->text)};
        return NULL;
    case PK_WIRE_SETTING:
        return c->totals->settings++ == PK_REPLY_SETTINGS_MAX
                   ? "more than 4096 settings in one reply"
                   : count_text(c, (const char *[]){msg->key, msg->text}, 2);
    case PK_WIRE_STATUS:
        if ((problem = count_text(c, &msg->text, 1)))
            return problem;
        s->status = msg->status;
        s->message = pk_strdup(&c->a, msg->text);
        pk_pass_parse(pk_json_str(msg->json, "pass", "timing"), &s->pass);
        s->invocation = (int)pk_json_int(msg->json, "invocation", 0);
        s->started_wall_ns = (uint64_t)pk_json_int(msg->json, "started_wall_ns", 0);
        s->elapsed_ns = (uint64_t)pk_json_int(msg->json, "elapsed_ns", 0);
        c->complete = true;
        return NULL;
    case PK_WIRE_GARBAGE:
        return pk_strdup(&c->a, msg->problem);
    default:
        return NULL;
    }
}

bool pk_collect(struct pk_collector *c, const struct pk_wire_msg *msg, const char **problem)
{
    *problem = add(c, msg);
    return !*problem && msg->type == PK_WIRE_STATUS;
}

struct pk_slice *pk_collected(struct pk_collector *c)
{
    struct pk_series *series = pk_new_n(&c->a, struct pk_series, c->n_series);
    for (size_t i = 0; i < c->n_series; i++) {
        const struct series_buffer *g = &c->series[i];
        series[i] = (struct pk_series){.metric = g->metric,
                                       .rank = g->rank,
                                       .instance = g->instance,
                                       .phase = g->phase,
                                       .reps = g->reps,
                                       .n = g->n,
                                       .ordinal = g->ordinal,
                                       .integer = g->integer,
                                       .real = g->real};
    }
    c->slice.series = series;
    c->slice.n_series = c->n_series;
    c->slice.metrics = c->metrics;
    c->slice.n_metrics = c->n_metrics;
    c->slice.notes = c->notes;
    c->slice.n_notes = c->n_notes;
    return &c->slice;
}
