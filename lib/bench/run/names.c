/* Names: the table of kinds, and where their names are found. */
#include "bench/run/run.h"

#include "bench/client/worker_client.h"
#include "bench/tables/tables.h"
#include "counter/group.h"
#include "counter/source.h"
#include "model/parallel/rates.h"
#include "out/out.h"
#include "store/table/table.h"

#include <string.h>

static void add(struct pk_completions *c, const char *name)
{
    pk_texts_add_new(&c->v, name, c->arena);
}

/* The first column of a query of the store. */
static void add_rows(struct pk_completions *c, const char *query)
{
    struct pk_rows rows;
    struct pk_err err;
    const char *path;
    if ((!c->store && (pk_store_path(c->arena, c->db, &path, &err) ||
                       pk_store_open(path, PK_STORE_UNTRUSTED, NULL, &c->store, &err))) ||
        pk_query(c->store, query, NULL, 0, c->arena, &rows, &err))
        return;
    for (size_t i = 0; i < rows.n; i++)
        if (rows.cells[i * rows.n_cols].type == PK_CELL_TEXT)
            add(c, rows.cells[i * rows.n_cols].s);
}

static void add_labels(struct pk_completions *c)
{
    add_rows(c, "labels_offered");
}

static void add_tables(struct pk_completions *c)
{
    pk_table_names(&c->v, NULL, c->arena);
}

static void add_baselines(struct pk_completions *c)
{
    add_rows(c, "baseline_names");
}

static void add_runs(struct pk_completions *c)
{
    add(c, "@");
    add(c, "@~1");
    add_baselines(c);
    add_labels(c);
    add_rows(c, "runs_offered");
}

static void add_metrics(struct pk_completions *c)
{
    struct pk_metric_decl *v;
    const size_t n = c->probe ? pk_probe_metrics(c->probe, c->arena, &v) : 0;
    for (size_t i = 0; i < n; i++)
        add(c, v[i].name);
    add_rows(c, "metrics_offered");
}

/* Those that only test perfkit are left out, as `list` does. */
static bool tests_perfkit(const char *counter)
{
    return strncmp(counter, "fake", 4) == 0;
}

static void add_sources(struct pk_completions *c)
{
    for (const struct pk_source *const *s = pk_sources; *s; s++)
        if (!tests_perfkit((*s)->name))
            add(c, (*s)->name);
}

static void add_counters(struct pk_completions *c)
{
    const struct pk_group *groups;
    const struct pk_event *events;
    const size_t n = pk_groups(c->arena, &groups);
    for (size_t i = 0; i < n; i++)
        if (!tests_perfkit(groups[i].name))
            add(c, groups[i].name);
    add_sources(c);
    for (const struct pk_source *const *s = pk_sources; *s; s++)
        for (size_t i = 0, of = pk_source_events(*s, &pk_counter_host, c->arena, &events); i < of; i++)
            if (!tests_perfkit(events[i].name))
                add(c, events[i].name);
}

static void add_experiments(struct pk_completions *c)
{
    pk_probe_names(&c->v, c->arena);
}

static void add_peers(struct pk_completions *c)
{
    pk_peer_names(&c->v, c->arena);
}

static void add_devices(struct pk_completions *c)
{
    for (const struct pk_device_ops *const *d = pk_device_kinds; *d; d++)
        add(c, (*d)->kind);
}

static void add_variants(struct pk_completions *c)
{
    for (const struct pk_variant *v = c->probe ? c->probe->variants : NULL; v && v->name; v++)
        add(c, v->name);
}

static void add_presets(struct pk_completions *c)
{
    for (const struct pk_preset *p = c->probe ? pk_probe_presets(c->probe) : NULL; p && p->name; p++)
        add(c, p->name);
}

static void add_models(struct pk_completions *c)
{
    for (const struct pk_model_shape_preset *p = pk_model_shape_presets; p->name; p++)
        add(c, p->name);
}

static void add_chips(struct pk_completions *c)
{
    for (const struct pk_parallel_chip *p = pk_parallel_chips; p->name; p++)
        add(c, p->name);
}

/* With "=", which the value follows. */
static void add_axes_to_set(struct pk_completions *c)
{
    for (const struct pk_axis *x = c->probe ? c->probe->axes : NULL; x && x->name; x++)
        add(c, pk_printf(c->arena, "%s=", x->name));
}

static void add_axes(struct pk_completions *c)
{
    add(c, "variant");
    add(c, "command");
    for (const struct pk_probe *const *p = pk_probes; *p; p++)
        for (const struct pk_axis *x = (*p)->hidden ? NULL : (*p)->axes; x && x->name; x++)
            add(c, x->name);
}

/* The words of the axis that an option is, or that was typed in "-a dtype="; files complete by themselves. */
static void add_axis_words(struct pk_completions *c)
{
    static const char *const on_off[] = {"on", "off", NULL};
    const int at = c->probe && c->axis ? pk_axis_index(c->probe->axes, c->axis) : -1;
    if (at < 0)
        return;
    const struct pk_axis *x = &c->probe->axes[at];
    for (const char *const *w = x->type == PK_AXIS_BOOL ? on_off : x->choices; w && *w; w++)
        add(c, *w);
}

/* An export is for programs: every format but the first, table. */
static void add_formats(struct pk_completions *c)
{
    for (size_t i = 1; i < PK_FORMATS_N; i++)
        add(c, pk_format_names[i]);
}

/* The kinds of values and arguments, by their names in option rows and usages. */
static const struct name_kind {
    const char *name;
    void (*add)(struct pk_completions *c);
} kinds[] = {
    {"RUN", add_runs},          {"BASE", add_runs},          {"NEW", add_runs},
    {"LABEL", add_labels},      {"BASELINE", add_baselines}, {"METRIC", add_metrics},
    {"COUNTER", add_counters},  {"SOURCE", add_sources},     {"EXPERIMENT", add_experiments},
    {"PEER", add_peers},        {"DEVICE", add_devices},     {"VARIANT", add_variants},
    {"PRESET", add_presets},    {"AXIS", add_axes},          {"AXIS=VALUES", add_axes_to_set},
    {"VALUES", add_axis_words}, {"FORMAT", add_formats},     {"TABLE", add_tables},
    {"MODEL", add_models},      {"CHIP", add_chips},
};

void pk_completions_add(struct pk_completions *c, const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, kind) == 0)
            kinds[i].add(c);
}
