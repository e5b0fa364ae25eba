/* Describe: an experiment's tables of axes, variants, presets and metrics, as JSON for programs and rows for people. */
#include "cmd/list/list.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/words.h"

#include <string.h>

static const char *const axis_types[] = {
    [PK_AXIS_INT] = "int",   [PK_AXIS_SIZE] = "size", [PK_AXIS_RATE] = "rate", [PK_AXIS_FLOAT] = "float",
    [PK_AXIS_ENUM] = "enum", [PK_AXIS_BOOL] = "bool", [PK_AXIS_FILE] = "file"};

static void add_row(json_t *list, json_t *row)
{
    pk_assert(row && !json_array_append_new(list, row));
}

static json_t *texts(const char *const *v)
{
    json_t *list = json_array();
    for (; v && *v; v++)
        pk_assert(!json_array_append_new(list, json_string(*v)));
    return list;
}

static json_t *axes_of(const struct pk_probe *p, struct pk_arena *a)
{
    json_t *list = json_array();
    for (const struct pk_axis *x = p->axes; x->name; x++) {
        bool number = pk_axis_ordered(x);
        add_row(list,
                json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o}", "name", x->name, "type",
                          axis_types[x->type], "unit", x->unit, "takes", pk_axis_takes(x, a), "default",
                          x->def, "help", x->help, "min", number ? pk_json_real(x->min) : json_null(), "max",
                          number ? pk_json_real(x->max) : json_null(), "choices",
                          x->type == PK_AXIS_ENUM ? texts(x->choices) : json_null()));
    }
    return list;
}

/* "cuda: reason" for every kind of device that a variant does not run on. */
static const char *missing_on(const struct pk_variant *v, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (unsigned k = 0; v->unavailable && k < PK_DEVICE_KINDS; k++) {
        const char *reason = v->unavailable((enum pk_device_kind)k);
        if (reason)
            pk_buf_printf(&b, "%s%s: %s", b.n ? "; " : "", pk_device_kinds[k]->kind, reason);
    }
    return b.n ? pk_buf_text(&b) : NULL;
}

static json_t *variants_of(const struct pk_probe *p, struct pk_arena *a)
{
    json_t *list = json_array();
    for (const struct pk_variant *v = p->variants; v->name; v++)
        add_row(list, json_pack("{s:s?, s:s?, s:s?}", "name", v->name, "summary", v->summary, "unavailable",
                                missing_on(v, a)));
    return list;
}

static json_t *presets_of(const struct pk_probe *p, struct pk_arena *a)
{
    json_t *list = json_array();
    for (const struct pk_preset *s = pk_probe_presets(p); s->name; s++)
        add_row(list, json_pack("{s:s?, s:s?, s:s?, s:o, s:o}", "name", s->name, "summary", s->summary,
                                "sweeps", pk_list(s->blocks, SIZE_MAX, " and ", a), "settings",
                                texts(s->settings), "variants", texts(s->variants)));
    return list;
}

static const char *region_summary(const struct pk_probe *p, const char *metric, struct pk_arena *a)
{
    for (const struct pk_region *r = p->regions; r->name; r++) {
        size_t n = strlen(r->name);
        if (strncmp(metric, r->name, n))
            continue;
        if (!strcmp(metric + n, "_ns"))
            return r->summary;
        if (!strcmp(metric + n, "_host_ns"))
            return pk_printf(a, "host time, including the wait for: %s", r->summary);
    }
    return NULL;
}

static const char *metric_summary(const struct pk_probe *p, const char *name, struct pk_arena *a)
{
    for (const struct pk_metric *m = p->metrics; m && m->name; m++)
        if (!strcmp(m->name, name))
            return m->summary;
    if (!strcmp(name, pk_peak_metric.name))
        return pk_peak_metric.summary;
    return region_summary(p, name, a);
}

static json_t *metrics_of(const struct pk_probe *p, struct pk_arena *a)
{
    json_t *list = json_array();
    struct pk_metric_decl *m;
    size_t n = pk_probe_metrics(p, a, &m);
    for (size_t i = 0; i < n; i++)
        add_row(list,
                json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?}", "name", m[i].name, "unit", m[i].unit, "direction",
                          m[i].direction, "class", m[i].class, "summary", metric_summary(p, m[i].name, a)));
    return list;
}

/* The tables of an experiment: columns are the keys of the objects. */
static const struct pk_column axis_columns[] = {
    {.key = "name", .heading = "Axis", .left = true},
    {.key = "type", .heading = "Type", .left = true, .machine = true},
    {.key = "unit", .heading = "Unit", .left = true, .machine = true},
    {.key = "takes", .heading = "Takes", .left = true},
    {.key = "default", .heading = "Default", .left = true},
    {.key = "help", .heading = "Meaning", .left = true},
    {.key = "min", .heading = "Min", .decimals = -1, .machine = true},
    {.key = "max", .heading = "Max", .decimals = -1, .machine = true},
    {.key = "choices", .heading = "Choices", .left = true, .json = true, .machine = true},
};
static const struct pk_column variant_columns[] = {
    {.key = "name", .heading = "Variant", .left = true},
    {.key = "summary", .heading = "Meaning", .left = true},
    {.key = "unavailable", .heading = "Not on", .left = true},
};
static const struct pk_column preset_columns[] = {
    {.key = "name", .heading = "Preset", .left = true},
    {.key = "summary", .heading = "Meaning", .left = true},
    {.key = "sweeps", .heading = "Sweeps", .left = true},
    {.key = "settings", .heading = "Settings", .left = true, .json = true},
    {.key = "variants", .heading = "Variants", .left = true, .json = true},
};
static const struct pk_column metric_columns[] = {
    {.key = "name", .heading = "Metric", .left = true},
    {.key = "unit", .heading = "Unit", .left = true},
    {.key = "direction", .heading = "Better", .left = true},
    {.key = "class", .heading = "Class", .left = true, .machine = true},
    {.key = "summary", .heading = "Meaning", .left = true},
};

static const struct section {
    const char *name;
    json_t *(*list)(const struct pk_probe *p, struct pk_arena *a);
    const struct pk_column *columns;
    size_t n;
} sections[] = {
    {"axes", axes_of, PK_COLUMNS(axis_columns)},
    {"variants", variants_of, PK_COLUMNS(variant_columns)},
    {"presets", presets_of, PK_COLUMNS(preset_columns)},
    {"metrics", metrics_of, PK_COLUMNS(metric_columns)},
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

static struct pk_cell cell_of(const json_t *v, struct pk_arena *a)
{
    if (json_is_string(v))
        return pk_cell_text(json_string_value(v));
    if (json_is_real(v))
        return pk_cell_real(json_real_value(v));
    return pk_cell_text(json_array_size(v) ? pk_json_text(a, v, PK_JSON_COMPACT) : NULL);
}

/* People are spared columns that no row fills. */
static void print_section(struct pk_out *out, const struct section *s, const char *title, const json_t *list,
                          struct pk_arena *a)
{
    struct pk_column *cols = pk_columns_copy(a, s->columns, s->n);
    const size_t rows = json_array_size(list);
    for (size_t c = 0, i; c < s->n; c++) {
        for (i = 0; i < rows; i++)
            if (cell_of(json_object_get(json_array_get(list, i), cols[c].key), a).type != PK_CELL_NULL)
                break;
        cols[c].machine |= i == rows;
    }
    pk_out_table(out, s->name, title, cols, s->n);
    for (size_t i = 0; i < rows; i++) {
        struct pk_row *row = pk_row_begin(out);
        for (size_t c = 0; c < s->n; c++)
            pk_put(row, cols[c].key, cell_of(json_object_get(json_array_get(list, i), cols[c].key), a));
        pk_row_end(row);
    }
}

void pk_describe_one(struct pk_out *out, const struct pk_probe *p, struct pk_arena *a)
{
    for (size_t s = 0; s < N_SECTIONS; s++) {
        PK_JSON_CLEANUP json_t *list = sections[s].list(p, a);
        print_section(out, &sections[s], s ? NULL : pk_printf(a, "%s: %s", p->name, p->summary), list, a);
    }
}

void pk_describe_all(struct pk_out *out, bool hidden, struct pk_arena *a)
{
    static const struct pk_column columns[] = {
        {.key = "name", .heading = "Experiment", .left = true},
        {.key = "summary", .heading = "Summary", .left = true},
        {.key = "revision", .heading = "Revision", .decimals = -1, .machine = true},
        {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
        {.key = "variants", .heading = "Variants", .left = true, .json = true, .machine = true},
        {.key = "presets", .heading = "Presets", .left = true, .json = true, .machine = true},
        {.key = "metrics", .heading = "Metrics", .left = true, .json = true, .machine = true},
    };
    pk_out_table(out, "experiments", NULL, PK_COLUMNS(columns));
    for (const struct pk_probe *const *p = pk_probes; *p; p++) {
        if ((*p)->hidden && !hidden)
            continue;
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "name", (*p)->name);
        pk_put_text(row, "summary", (*p)->summary);
        pk_put_int(row, "revision", (*p)->revision);
        for (size_t s = 0; s < N_SECTIONS; s++) {
            PK_JSON_CLEANUP json_t *list = sections[s].list(*p, a);
            pk_put_text(row, sections[s].name, pk_json_text(a, list, PK_JSON_COMPACT));
        }
        pk_row_end(row);
    }
    pk_out_note(out, "perfkit list experiments NAME shows axes, variants, presets and metrics");
}
