/* Answers: ceilings, self-tests and single numbers as slices, and back. */
#include "bench/worker/answers.h"

#include "json/json.h"

#include <stddef.h>
#include <string.h>

const struct pk_ceiling_row pk_ceiling_rows[PK_CEILING_ROWS] = {
    {"fp32_flops_per_s", "flops/s", offsetof(struct pk_ceilings, fp32_flops_per_s)},
    {"exp_per_s", "1/s", offsetof(struct pk_ceilings, exp_per_s)},
    {"memory_bytes_per_s", "bytes/s", offsetof(struct pk_ceilings, memory_bytes_per_s)},
    {"copy_bytes_per_s", "bytes/s", offsetof(struct pk_ceilings, copy_bytes_per_s)},
    {"cache_bytes", "bytes", offsetof(struct pk_ceilings, cache_bytes)},
    {"tf32_flops_per_s", "flops/s", offsetof(struct pk_ceilings, tf32_flops_per_s), .of_some = true},
    {"bf16_flops_per_s", "flops/s", offsetof(struct pk_ceilings, bf16_flops_per_s), .of_some = true},
};

static struct pk_slice slice_of(const struct pk_metric_decl *metrics, const struct pk_series *series,
                                size_t n)
{
    return (struct pk_slice){.pass = PK_PASS_CALIBRATION,
                             .invocation = 1,
                             .status = PK_ST_OK,
                             .message = "",
                             .metrics = metrics,
                             .n_metrics = n,
                             .series = series,
                             .n_series = n};
}

void pk_ceilings_slice(const struct pk_ceilings *c, struct pk_arena *a, struct pk_slice *out)
{
    static const int64_t first[] = {0};
    struct pk_ceilings *copy = pk_new(a, struct pk_ceilings);
    struct pk_metric_decl *metrics = pk_new_n(a, struct pk_metric_decl, PK_CEILING_ROWS);
    struct pk_series *series = pk_new_n(a, struct pk_series, PK_CEILING_ROWS);
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
    *out = slice_of(metrics, series, n);
}

enum pk_code pk_ceilings_of_slice(const struct pk_slice *slice, struct pk_ceilings *out, struct pk_err *err)
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
            return pk_why(err, "its answer has no positive value of it");
        }
    }
    return PK_OK;
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

/* Takes the value over; NULL is null. */
static struct pk_note note_of(const char *key, json_t *value, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = value ? value : json_null();
    return (struct pk_note){key, pk_json_text(a, j, PK_JSON_CANON)};
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

static json_t *note_value(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (!strcmp(s->notes[i].key, key))
            return json_loads(s->notes[i].json, JSON_DECODE_ANY, NULL);
    return NULL;
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
