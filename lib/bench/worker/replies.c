/* Replies: ceilings, self-tests and single numbers as slices, and back. */
#include "bench/worker/replies.h"

#include "json/json.h"

#include <stddef.h>
#include <string.h>

#define LEVEL_ROW(name, unit, at, member)                                                                    \
    {                                                                                                        \
        name, unit, offsetof(struct pk_ceilings, level[at].member), true, (at) == PK_LEVEL_BETWEEN, true     \
    }
#define LEVEL(name, at)                                                                                      \
    LEVEL_ROW(name "_bytes", "bytes", at, to_bytes),                                                         \
        LEVEL_ROW(name "_bytes_per_s", "bytes/s", at, bytes_per_s),                                          \
        LEVEL_ROW(name "_copy_bytes_per_s", "bytes/s", at, copy_bytes_per_s)

const struct pk_ceiling_row pk_ceiling_rows[PK_CEILING_ROWS] = {
    {"fp32_flops_per_s", "flops/s", offsetof(struct pk_ceilings, fp32_flops_per_s)},
    {"exp_per_s", "1/s", offsetof(struct pk_ceilings, exp_per_s)},
    {"memory_bytes_per_s", "bytes/s", offsetof(struct pk_ceilings, memory_bytes_per_s), .of_curve = true},
    {"copy_bytes_per_s", "bytes/s", offsetof(struct pk_ceilings, copy_bytes_per_s), .of_curve = true},
    {"cache_bytes", "bytes", offsetof(struct pk_ceilings, cache_bytes)},
    {"tf32_flops_per_s", "flops/s", offsetof(struct pk_ceilings, tf32_flops_per_s), .of_some = true},
    {"bf16_flops_per_s", "flops/s", offsetof(struct pk_ceilings, bf16_flops_per_s), .of_some = true},
    LEVEL("l1", PK_LEVEL_L1),
    LEVEL("l2", PK_LEVEL_L2),
    LEVEL("l3", PK_LEVEL_L3),
    LEVEL("between", PK_LEVEL_BETWEEN),
};

static struct pk_slice slice_of(const struct pk_metric_decl *metrics, const struct pk_series *series,
                                size_t n)
{
    return (struct pk_slice){.pass = PK_PASS_OTHER,
                             .invocation = 1,
                             .status = PK_ST_OK,
                             .message = "",
                             .metrics = metrics,
                             .n_metrics = n,
                             .series = series,
                             .n_series = n};
}

/* Takes the value over; NULL is null. */
static struct pk_note note_of(const char *key, json_t *value, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = value ? value : json_null();
    return (struct pk_note){key, pk_json_text(a, j, PK_JSON_CANON)};
}

static json_t *note_value(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (!strcmp(s->notes[i].key, key))
            return json_loads(s->notes[i].json, JSON_DECODE_ANY, NULL);
    return NULL;
}

/* --- curves: [[lanes, stop, [[bytes, level, rate of each stream] of each point]] of each], constants as numbers ------- */

static const char curves_key[] = "curves";

static json_t *json_of_curve(const struct pk_curve *c)
{
    json_t *points = json_array();
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_curve_point *p = &c->points[i];
        json_t *numbers = json_pack("[I, i]", (json_int_t)p->bytes, (int)p->level);
        for (size_t s = 0; s < PK_STREAMS; s++)
            json_array_append_new(numbers, json_real(p->rate[s]));
        json_array_append_new(points, numbers);
    }
    return json_pack("[i, i, o]", (int)c->lanes, (int)c->stop, points);
}

/* False for what json_of_curve does not make. */
static bool curve_of_json(json_t *j, struct pk_curve *c)
{
    json_t *points, *numbers;
    int lanes, stop, level;
    json_int_t bytes;
    size_t i;
    if (json_unpack(j, "[i, i, o]", &lanes, &stop, &points) || lanes < 1 || stop < 0 ||
        stop >= PK_CURVE_STOPS || json_array_size(points) > PK_CURVE_POINTS)
        return false;
    *c = (struct pk_curve){.lanes = (unsigned)lanes, .stop = (enum pk_curve_stop)stop};
    json_array_foreach(points, i, numbers)
    {
        if (json_unpack(numbers, "[I, i]", &bytes, &level) || bytes < 1 || level < 0 || level >= PK_LEVELS)
            return false;
        c->points[c->n].bytes = (size_t)bytes;
        c->points[c->n].level = (enum pk_memory_level)level;
        for (size_t s = 0; s < PK_STREAMS; s++)
            c->points[c->n].rate[s] = json_number_value(json_array_get(numbers, 2 + s));
        c->n++;
    }
    return true;
}

static bool curves_of_slice(const struct pk_slice *slice, struct pk_curves *out)
{
    PK_JSON_CLEANUP json_t *list = note_value(slice, curves_key);
    json_t *j;
    size_t i;
    out->n = 0;
    if (json_array_size(list) > sizeof out->v / sizeof *out->v)
        return false;
    json_array_foreach(list, i, j)
    {
        if (!curve_of_json(j, &out->v[out->n++]))
            return false;
    }
    return true;
}

void pk_ceilings_slice(const struct pk_ceilings *c, const struct pk_curves *curves, struct pk_arena *a,
                       struct pk_slice *out)
{
    static const int64_t first[] = {0};
    struct pk_ceilings *copy = pk_new(a, struct pk_ceilings);
    struct pk_metric_decl *metrics = pk_new_n(a, struct pk_metric_decl, PK_CEILING_ROWS);
    struct pk_series *series = pk_new_n(a, struct pk_series, PK_CEILING_ROWS);
    struct pk_note *note = pk_new(a, struct pk_note);
    json_t *list = json_array();
    size_t n = 0;
    *copy = *c;
    for (size_t i = 0; i < PK_CEILING_ROWS; i++) {
        const struct pk_ceiling_row *row = &pk_ceiling_rows[i];
        const double *value = pk_ceiling(copy, i);
        if (row->of_some && !(*value > 0))
            continue;
        metrics[n] = (struct pk_metric_decl){row->key, row->unit, "higher", "rate", "max", "min", "formula"};
        series[n] = (struct pk_series){
            .metric = n, .phase = PK_PHASE_STEADY, .reps = 1, .n = 1, .ordinal = first, .real = value};
        n++;
    }
    for (size_t i = 0; i < curves->n; i++)
        json_array_append_new(list, json_of_curve(&curves->v[i]));
    *note = note_of(curves_key, list, a);
    *out = slice_of(metrics, series, n);
    out->notes = note;
    out->n_notes = 1;
}

enum pk_code pk_ceilings_of_slice(const struct pk_slice *slice, struct pk_ceilings *out,
                                  struct pk_curves *curves, struct pk_err *err)
{
    for (size_t i = 0; i < PK_CEILING_ROWS; i++) {
        const struct pk_ceiling_row *row = &pk_ceiling_rows[i];
        double *value = pk_ceiling(out, i);
        *value = 0;
        for (size_t k = 0; k < slice->n_series; k++)
            if (!strcmp(slice->metrics[slice->series[k].metric].name, row->key) && slice->series[k].real)
                *value = slice->series[k].real[0];
        if (!row->of_some && !(*value > 0)) {
            pk_fail(err, PK_E_INTERNAL, "the worker measured no %s", row->key);
            return pk_why(err, "its reply has no positive value of it");
        }
    }
    if (curves_of_slice(slice, curves))
        return PK_OK;
    pk_fail(err, PK_E_INTERNAL, "the worker's rates over size cannot be read");
    return pk_why(err, "it is another build of perfkit");
}

struct pk_slice pk_number_slice(const char *name, int64_t value, struct pk_arena *a)
{
    static const int64_t first[] = {0};
    int64_t *number = pk_new(a, int64_t);
    struct pk_metric_decl *metric = pk_new(a, struct pk_metric_decl);
    struct pk_series *series = pk_new(a, struct pk_series);
    *number = value;
    *metric = (struct pk_metric_decl){name, "1", "none", "exact", "median", "max", "formula"};
    *series =
        (struct pk_series){.phase = PK_PHASE_STEADY, .reps = 1, .n = 1, .ordinal = first, .integer = number};
    return slice_of(metric, series, 1);
}

enum pk_code pk_selftest_slice(const char *source, struct pk_arena *a, struct pk_slice *out,
                               struct pk_err *err)
{
    const struct pk_source *s = pk_source_find(source);
    if (!s) {
        pk_fail(err, PK_E_USAGE, "this worker has no source '%.100s'", source);
        return pk_why(err, "it is another build of perfkit");
    }
    const struct pk_source_found f = (s->selftest ? s->selftest : s->check)(s, &pk_counter_host, a);
    struct pk_note *notes = pk_new_n(a, struct pk_note, 3);
    notes[0] = note_of("why", json_string(f.why), a);
    notes[1] = note_of("fix", f.fix ? json_string(f.fix) : NULL, a);
    notes[2] = note_of("error", json_integer(f.error), a);
    *out = pk_number_slice("state", f.state, a);
    out->notes = notes;
    out->n_notes = 3;
    return PK_OK;
}

struct pk_source_found pk_selftest_of_slice(const struct pk_slice *s, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *why = note_value(s, "why"), *fix = note_value(s, "fix"),
                           *error = note_value(s, "error");
    const int64_t state = s->series[0].integer ? s->series[0].integer[0] : PK_SOURCE_UNAVAILABLE;
    return (struct pk_source_found){
        state == PK_SOURCE_OK || state == PK_SOURCE_DEGRADED ? (enum pk_source_state)state
                                                             : PK_SOURCE_UNAVAILABLE,
        (int)json_integer_value(error), json_is_string(why) ? pk_strdup(a, json_string_value(why)) : "",
        json_is_string(fix) ? pk_strdup(a, json_string_value(fix)) : NULL};
}
