/* Cases: builds what is imported: cases by their names and axes, metrics of a case, samples. */
#include "import/reader.h"

#include "base/index.h"

#include <math.h>
#include <string.h>

enum { AXES_MAX = 64, METRICS_MAX = 256 };

/* An axis has one value. */
static json_t *axis_value(struct pk_import_reader *r, const json_t *v)
{
    if (json_is_string(v) || json_is_number(v) || json_is_boolean(v))
        return json_deep_copy(v);
    return json_is_null(v) ? json_string("none") : json_string(pk_json_text(r->a, v, PK_JSON_CANON));
}

static const char *axes_text(struct pk_import_reader *r, const json_t *axes)
{
    PK_JSON_CLEANUP json_t *out = json_object();
    const char *key;
    json_t *v;
    if (json_object_size(axes) > AXES_MAX)
        pk_import_problem(r, "more than %d parameters", AXES_MAX);
    json_object_foreach((json_t *)axes, key, v)
    {
        json_object_set_new(out, key, axis_value(r, v));
    }
    const char *text = pk_json_text(r->a, out, PK_JSON_CANON);
    if (strlen(text) > 2 * PK_IMPORT_TEXT_MAX)
        pk_import_problem(r, "parameters of more than %d bytes", 2 * PK_IMPORT_TEXT_MAX);
    return text;
}

struct case_key {
    const struct pk_import_reader *r;
    const char *variant, *device, *axes;
};

static bool is_case(const void *wanted, uint32_t row)
{
    const struct case_key *w = wanted;
    const struct pk_imported_case *c = &w->r->cases[row];
    return !strcmp(c->variant, w->variant) && !strcmp(c->axes, w->axes) && !strcmp(c->device, w->device);
}

struct pk_imported_case *pk_import_case(struct pk_import_reader *r, const char *variant, const char *device,
                                        const json_t *axes)
{
    const char *text = axes_text(r, axes);
    if (!r->failed && r->out->n_cases == PK_IMPORT_CASES_MAX)
        pk_import_problem(r, "more than %d cases", PK_IMPORT_CASES_MAX);
    if (r->failed)
        return NULL;
    const struct case_key w = {r, variant, device, text};
    const uint64_t hash = pk_hash_bytes(pk_hash_bytes(0, variant, strlen(variant)), text, strlen(text));
    const uint32_t fresh = (uint32_t)r->out->n_cases, row = pk_index_row(r->index, hash, is_case, &w, fresh);
    if (row != fresh)
        return &r->cases[row];
    r->out->cases = r->cases = pk_grow(r->a, r->cases, sizeof *r->cases, fresh, &r->cases_cap);
    r->cases[r->out->n_cases++] =
        (struct pk_imported_case){.variant = variant, .device = device, .axes = text, .message = ""};
    return &r->cases[fresh];
}

struct pk_imported_case *pk_import_new_case(struct pk_import_reader *r, const char *variant,
                                            const char *device, const json_t *axes)
{
    PK_JSON_CLEANUP json_t *own = axes ? json_deep_copy(axes) : json_object();
    const size_t before = r->out->n_cases;
    struct pk_imported_case *c = pk_import_case(r, variant, device, own);
    for (json_int_t k = 2; !r->failed && r->out->n_cases == before; k++) {
        json_object_set_new(own, "occurrence", json_integer(k));
        c = pk_import_case(r, variant, device, own);
    }
    return c;
}

struct pk_imported_metric *pk_import_metric(struct pk_import_reader *r, struct pk_imported_case *c,
                                            const struct pk_metric_decl *decl)
{
    if (r->failed)
        return NULL;
    for (size_t i = 0; i < c->n_metrics; i++)
        if (strcmp(c->metrics[i].decl.name, decl->name) == 0)
            return &c->metrics[i];
    if (c->n_metrics == METRICS_MAX) {
        pk_import_problem(r, "more than %d metrics of a case", METRICS_MAX);
        return NULL;
    }
    c->metrics = pk_grow(r->a, c->metrics, sizeof *c->metrics, c->n_metrics, &c->cap);
    struct pk_imported_metric *m = &c->metrics[c->n_metrics++];
    *m = (struct pk_imported_metric){
        .decl = *decl, .summary = {.median = NAN, .mean = NAN, .sd = NAN, .min = NAN, .max = NAN, .cv = NAN}};
    return m;
}

void pk_import_sample(struct pk_import_reader *r, struct pk_imported_metric *m, int64_t ordinal, double value)
{
    if (!r->failed && !r->values_left)
        pk_import_problem(r, "more than %d values in all files", PK_IMPORT_VALUES_MAX);
    if (!r->failed && !(fabs(value) <= PK_IMPORT_LARGEST))
        pk_import_problem(r, "a value is too large, or not a number");
    if (r->failed)
        return;
    r->values_left--;
    r->out->n_values++;
    m->value = pk_grow(r->a, m->value, sizeof *m->value, m->n, &m->cap);
    m->ordinal = pk_grow(r->a, m->ordinal, sizeof *m->ordinal, m->n, &m->ordinal_cap);
    m->ordinal[m->n] = ordinal;
    m->value[m->n++] = value;
}

void pk_import_samples(struct pk_import_reader *r, struct pk_imported_metric *m, const json_t *array,
                       double scale)
{
    size_t i;
    json_t *v;
    json_array_foreach((json_t *)array, i, v)
    {
        if (!json_is_number(v))
            pk_import_problem(r, "value %zu is not a number", i);
        else if (json_number_value(v) < 0)
            pk_import_problem(r, "value %zu is below zero", i);
        if (r->failed)
            return;
        pk_import_sample(r, m, (int64_t)i, json_number_value(v) * scale);
    }
}

void pk_import_note(struct pk_import_reader *r, struct pk_imported_case *c, const char *key, json_t *stolen)
{
    PK_JSON_CLEANUP json_t *value = stolen;
    if (r->failed || !value)
        return;
    size_t at = 0;
    while (at < c->n_notes && strcmp(c->notes[at].key, key) != 0)
        at++;
    if (at == c->n_notes)
        c->notes = pk_grow(r->a, c->notes, sizeof *c->notes, c->n_notes++, &c->notes_cap);
    c->notes[at] = (struct pk_note){key, pk_json_text(r->a, value, PK_JSON_COMPACT)};
}

void pk_import_setting(struct pk_import_reader *r, const char *key, const char *value)
{
    if (r->failed || !value || !*value)
        return;
    r->settings = pk_grow(r->a, r->settings, sizeof *r->settings, r->out->n_settings, &r->settings_cap);
    r->settings[r->out->n_settings++] = (struct pk_setting){0, key, value};
    r->out->settings = r->settings;
}

void pk_import_machine(struct pk_import_reader *r, json_t *machine)
{
    const char *key;
    json_t *v;
    void *next;
    json_object_foreach_safe(machine, next, key, v)
    {
        if ((json_is_string(v) && !*json_string_value(v)) ||
            (json_is_integer(v) && json_integer_value(v) <= 0))
            json_object_del(machine, key);
    }
    if (!json_object_get(machine, "cpu_model") && !json_object_get(machine, "host"))
        json_object_set_new(machine, "cpu_model", json_string("machine not recorded"));
    r->out->machine = pk_json_text(r->a, machine, PK_JSON_CANON);
}
