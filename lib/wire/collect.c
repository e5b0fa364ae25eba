/* Collect: from messages to a slice. Samples of one (metric, rank, instance, phase, reps) become one series,
 * found by a hash table, so that a program that writes one value per line costs no more than one that
 * batches. */
#include "wire/wire.h"

#include <string.h>

/* A series that grows. `integer` turns into `real` when the first value comes that is not an integer. */
struct growing {
    size_t metric;
    int rank, instance;
    enum pk_phase phase;
    int64_t reps;
    size_t n, ordinal_cap, value_cap;
    int64_t *ordinal, *integer;
    double *real;
};

struct pk_collector {
    struct pk_arena own; /* this struct */
    struct pk_arena a;   /* the slice */
    struct pk_slice slice;
    bool complete;
    struct pk_metric_decl *metrics;
    struct growing *series;
    struct pk_note *notes;
    size_t n_metrics, metrics_cap, n_series, series_cap, n_notes, notes_cap;
    size_t n_values;
    size_t *table, table_size; /* index + 1 into series; 0 = free; size a power of two */
};

struct pk_collector *pk_collector_new(void)
{
    struct pk_arena own = {0};
    struct pk_collector *c = pk_new(&own, struct pk_collector);
    c->own = own;
    pk_collector_reset(c);
    return c;
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
    *c = (struct pk_collector){.own = c->own, .slice = {.message = "", .status = PK_ST_FAILED}};
}

static size_t hash_of(const struct growing *s)
{
    uint64_t h = s->metric;
    const uint64_t parts[] = {(uint64_t)s->rank, (uint64_t)s->instance, (uint64_t)s->phase,
                              (uint64_t)s->reps};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        h = (h ^ parts[i]) * 0x9e3779b97f4a7c15u;
    return (size_t)(h ^ h >> 32);
}

static bool same_key(const struct growing *a, const struct growing *b)
{
    return a->metric == b->metric && a->rank == b->rank && a->instance == b->instance &&
           a->phase == b->phase && a->reps == b->reps;
}

/* The table's slot of a key: the series' own or a free one. */
static size_t *slot_of(struct pk_collector *c, const struct growing *key)
{
    size_t i = hash_of(key) & (c->table_size - 1);
    while (c->table[i] && !same_key(&c->series[c->table[i] - 1], key))
        i = (i + 1) & (c->table_size - 1);
    return &c->table[i];
}

static void grow_table(struct pk_collector *c)
{
    if (2 * (c->n_series + 1) <= c->table_size)
        return;
    c->table_size = c->table_size ? 2 * c->table_size : 64;
    c->table = pk_new_n(&c->a, size_t, c->table_size);
    for (size_t i = 0; i < c->n_series; i++)
        *slot_of(c, &c->series[i]) = i + 1;
}

static struct growing *series_of(struct pk_collector *c, const struct growing *key)
{
    grow_table(c);
    size_t *slot = slot_of(c, key);
    if (!*slot) {
        c->series = pk_grow(&c->a, c->series, sizeof *c->series, c->n_series, &c->series_cap);
        c->series[c->n_series] = *key;
        *slot = ++c->n_series;
    }
    return &c->series[*slot - 1];
}

static int metric_index(const struct pk_collector *c, const char *name)
{
    for (size_t i = c->n_metrics; i-- > 0;)
        if (!strcmp(c->metrics[i].name, name))
            return (int)i;
    return -1;
}

/* The ordinal after the last of this metric, rank, instance and reps, whatever the phase. */
static int64_t next_ordinal(struct pk_collector *c, const struct growing *key)
{
    int64_t next = 0;
    for (int phase = 0; c->table_size && phase < PK_PHASES; phase++) {
        struct growing k = *key;
        k.phase = (enum pk_phase)phase;
        size_t slot = *slot_of(c, &k);
        const struct growing *s = slot ? &c->series[slot - 1] : NULL;
        if (s && s->n && s->ordinal[s->n - 1] >= next)
            next = s->ordinal[s->n - 1] + 1;
    }
    return next;
}

static void make_real(struct pk_collector *c, struct growing *s)
{
    s->real = pk_new_n(&c->a, double, s->value_cap);
    for (size_t i = 0; i < s->n; i++)
        s->real[i] = (double)s->integer[i];
    s->integer = NULL;
}

static void append(struct pk_collector *c, struct growing *s, const struct pk_series *from, int64_t ordinal)
{
    if (from->real && !s->real)
        make_real(c, s);
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
    c->n_values += from->n;
}

static const char *add_samples(struct pk_collector *c, const struct pk_wire_msg *msg)
{
    int metric = metric_index(c, msg->samples_metric);
    if (metric < 0)
        return pk_printf(&c->a, "samples of the metric \"%s\", which was not declared", msg->samples_metric);
    const struct pk_series *from = &msg->series;
    if (from->n > PK_SLICE_VALUES_MAX - c->n_values)
        return "more than 16777216 values for one case";
    if (c->n_series == PK_SLICE_SERIES_MAX)
        return "more than 131072 series for one case";
    if (!from->n)
        return NULL;
    const struct growing key = {.metric = (size_t)metric,
                                .rank = from->rank,
                                .instance = from->instance,
                                .phase = from->phase,
                                .reps = from->reps};
    int64_t ordinal = msg->samples_ordinal >= 0 ? msg->samples_ordinal : next_ordinal(c, &key);
    append(c, series_of(c, &key), from, ordinal);
    return NULL;
}

static bool same_metric(const struct pk_metric_decl *a, const struct pk_metric_decl *b)
{
    return !strcmp(a->unit, b->unit) && !strcmp(a->direction, b->direction) && !strcmp(a->class, b->class) &&
           !strcmp(a->combine, b->combine) && !strcmp(a->ranks, b->ranks);
}

static const char *add_metric(struct pk_collector *c, const struct pk_metric_decl *d)
{
    int known = metric_index(c, d->name);
    if (known >= 0)
        return same_metric(&c->metrics[known], d)
                   ? NULL
                   : pk_printf(&c->a, "the metric \"%s\" declared twice with different properties", d->name);
    if (c->n_metrics == PK_SLICE_METRICS_MAX)
        return "more than 1024 metrics for one case";
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

static const char *add_note(struct pk_collector *c, const char *key, const char *json)
{
    if (c->n_notes == PK_SLICE_NOTES_MAX)
        return "more than 4096 notes for one case";
    c->notes = pk_grow(&c->a, c->notes, sizeof *c->notes, c->n_notes, &c->notes_cap);
    c->notes[c->n_notes++] = (struct pk_note){pk_strdup(&c->a, key), pk_strdup(&c->a, json)};
    return NULL;
}

static const char *end_slice(struct pk_collector *c, const struct pk_wire_msg *msg)
{
    struct pk_slice *s = &c->slice;
    s->status = msg->status;
    s->message = pk_strdup(&c->a, msg->text);
    pk_pass_parse(pk_json_str(msg->json, "pass", "timing"), &s->pass);
    s->invocation = (int)pk_json_int(msg->json, "invocation", 0);
    s->started_wall_ns = (uint64_t)pk_json_int(msg->json, "started_wall_ns", 0);
    s->elapsed_ns = (uint64_t)pk_json_int(msg->json, "elapsed_ns", 0);
    c->complete = true;
    return NULL;
}

static bool part_of_slice(enum pk_wire_type t)
{
    return t == PK_WIRE_METRIC || t == PK_WIRE_SAMPLES || t == PK_WIRE_NOTE || t == PK_WIRE_FIT ||
           t == PK_WIRE_STATUS;
}

static const char *add(struct pk_collector *c, const struct pk_wire_msg *msg)
{
    if (c->complete && part_of_slice(msg->type))
        return "a message after the status that ended the case";
    switch (msg->type) {
    case PK_WIRE_METRIC:
        return add_metric(c, &msg->metric);
    case PK_WIRE_SAMPLES:
        return add_samples(c, msg);
    case PK_WIRE_NOTE:
    case PK_WIRE_FIT:
        return add_note(c, msg->key, msg->text);
    case PK_WIRE_STATUS:
        return end_slice(c, msg);
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
        const struct growing *g = &c->series[i];
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
