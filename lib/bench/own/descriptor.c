/* Descriptor: names, variants, metrics and presets. */
#include "bench/own/descriptor.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "bench/own/members.h"
#include "store/table/table.h"

#include <string.h>

/* --- variants ------------------------------------------------------------------------------------------------------------- */

static int variant_index(const struct pk_variant *v, const char *name)
{
    for (int i = 0; v[i].name; i++)
        if (strcmp(v[i].name, name) == 0)
            return i;
    return -1;
}

/* "bucket gradients" */
static enum pk_code read_ignores(const struct reading *r, const char *where, const json_t *j,
                                 const char **ignores)
{
    const json_t *list;
    struct pk_buf b = {.arena = r->a};
    if (pk_descriptor_list(r, j, "ignores", PK_AXES_MAX, &list))
        return r->err->code;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || pk_axis_index(r->own->probe.axes, name) < 0)
            return pk_descriptor_refuse(r, where, "`ignores` names something else than an axis");
        pk_buf_printf(&b, "%s%s", b.n ? " " : "", name);
    }
    *ignores = b.n ? pk_buf_text(&b) : NULL;
    return PK_OK;
}

static enum pk_code read_variants(struct reading *r, const json_t *j)
{
    const json_t *list;
    if (pk_descriptor_list(r, j, "variants", PK_OWN_VARIANTS_MAX, &list))
        return r->err->code;
    const size_t n = json_array_size(list);
    struct pk_variant *v = pk_new_n(r->a, struct pk_variant, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *of = json_array_get(list, i);
        const char *where = pk_printf(r->a, "variants[%zu]", i), *name;
        if (pk_descriptor_name(r, where, json_object_get(of, "name"), PK_NAME_WORD, &name))
            return r->err->code;
        if (variant_index(v, name) >= 0)
            return pk_descriptor_refuse(r, where, "the variant '%s' is given twice", name);
        if (pk_descriptor_text(r, of, where, "summary", "", &v[i].summary) ||
            read_ignores(r, where, of, &v[i].ignores))
            return r->err->code;
        v[i].name = name;
    }
    r->own->probe.variants = v;
    if (!n)
        return pk_descriptor_refuse(r, "variants", "there is none");
    if (pk_descriptor_text(r, j, "yardstick", "yardstick", v[0].name, &r->own->yardstick))
        return r->err->code;
    return variant_index(v, r->own->yardstick) < 0
               ? pk_descriptor_refuse(r, "yardstick", "it is not the name of a variant")
               : PK_OK;
}

/* --- metrics --------------------------------------------------------------------------------------------------------------- */

static bool is_known(const struct pk_probe *p, const char *metric, struct pk_arena *a)
{
    struct pk_metric_decl *v;
    for (size_t i = 0, n = pk_probe_metrics(p, a, &v); i < n; i++)
        if (strcmp(v[i].name, metric) == 0)
            return true;
    return false;
}

static enum pk_code read_metric(const struct reading *r, const json_t *j, const char *where,
                                struct pk_metric *m)
{
    static const char *const directions[] = {"lower", "higher", "none", NULL};
    static const char *const classes[] = {"time", "exact", "rate", "memory", NULL};
    static const char *const combines[] = {"median", "min", "max", "sum", "mean", NULL};
    size_t direction, class, combine;
    if (pk_descriptor_name(r, where, json_object_get(j, "name"), PK_NAME_KEY, &m->name) ||
        pk_descriptor_text(r, j, where, "summary", "", &m->summary) ||
        pk_descriptor_text(r, j, where, "unit",
                           pk_ends_with(m->name, "_ns")      ? "ns"
                           : pk_ends_with(m->name, "_bytes") ? "bytes"
                                                             : "1",
                           &m->unit))
        return r->err->code;
    const bool ns = strcmp(m->unit, "ns") == 0, bytes = strcmp(m->unit, "bytes") == 0;
    if (strlen(m->unit) > PK_OWN_NAME_MAX || !*m->unit)
        return pk_descriptor_refuse(r, where, "`unit` has more than %d characters, or none", PK_OWN_NAME_MAX);
    if (pk_descriptor_word(r, j, where, "class", classes,
                           ns      ? PK_CLASS_TIME
                           : bytes ? PK_CLASS_MEMORY
                                   : PK_CLASS_RATE,
                           &class) ||
        pk_descriptor_word(r, j, where, "direction", directions,
                           ns || bytes ? PK_LOWER_IS_BETTER : PK_NO_DIRECTION, &direction) ||
        pk_descriptor_word(r, j, where, "combine", combines,
                           class == PK_CLASS_MEMORY ? PK_COMBINE_MAX : PK_COMBINE_MEDIAN, &combine))
        return r->err->code;
    m->class = (enum pk_metric_class) class;
    m->direction = (enum pk_direction)direction;
    m->over_samples = (enum pk_combine)combine;
    m->over_ranks = PK_COMBINE_MAX;
    if (m->class == PK_CLASS_TIME && (!ns || !pk_ends_with(m->name, "_ns") ||
                                      m->direction != PK_LOWER_IS_BETTER || combine != PK_COMBINE_MEDIAN))
        return pk_descriptor_refuse(
            r, where, "a time is in ns, its name ends with _ns, lower is better, and medians combine it");
    return PK_OK;
}

/* A time is the region of its name, as marks are in perfkit's own experiments; what is left is a metric. */
static enum pk_code add_metric(struct reading *r, const struct pk_metric *m, const char *where,
                               struct pk_region *regions, size_t *n_regions, struct pk_metric *metrics,
                               size_t *n_metrics)
{
    const size_t n = strlen(m->name);
    const char *const whole = pk_ends_with(m->name, "_host_ns")
                                  ? pk_printf(r->a, "%.*s_ns", (int)(n - strlen("_host_ns")), m->name)
                                  : NULL;
    if (strcmp(m->name, pk_peak_metric.name) == 0)
        return strcmp(m->unit, "bytes") ? pk_descriptor_refuse(r, where, "peak_bytes is in bytes") : PK_OK;
    if (pk_descriptor_is_reserved(m->name) || pk_axis_index(r->own->probe.axes, m->name) >= 0)
        return pk_descriptor_refuse(r, where, "the name '%s' is reserved, or that of an axis", m->name);
    if (whole && m->class == PK_CLASS_TIME && is_known(&r->own->probe, whole, r->a))
        return PK_OK; /* it comes with its region */
    if (is_known(&r->own->probe, m->name, r->a))
        return pk_descriptor_refuse(r, where, "the metric '%s' is given twice", m->name);
    if (m->class == PK_CLASS_TIME) {
        regions[(*n_regions)++] =
            (struct pk_region){.name = pk_strndup(r->a, m->name, n - strlen("_ns")), .summary = m->summary};
        return PK_OK;
    }
    metrics[*n_metrics] = *m;
    metrics[*n_metrics].gauge = (unsigned)*n_metrics;
    ++*n_metrics;
    return PK_OK;
}

static enum pk_code read_metrics(struct reading *r, const json_t *j)
{
    const json_t *list;
    size_t n_regions = 0, n_metrics = 0;
    if (pk_descriptor_list(r, j, "metrics", PK_OWN_METRICS_MAX, &list))
        return r->err->code;
    const size_t n = json_array_size(list);
    struct pk_region *regions = pk_new_n(r->a, struct pk_region, n + 2);
    struct pk_metric *metrics = pk_new_n(r->a, struct pk_metric, n + 1);
    r->own->probe.regions = regions;
    r->own->probe.metrics = metrics;
    if (!n && pk_axis_index(r->own->probe.axes, "time_ns") >= 0)
        return pk_descriptor_refuse(r, "axis time_ns",
                                    "the name stands for the metric of an experiment that describes none");
    if (!n)
        regions[n_regions++] = (struct pk_region){.name = "time", .summary = "time of one repetition"};
    for (size_t i = 0; i < n; i++) {
        struct pk_metric m = {0};
        const char *where = pk_printf(r->a, "metrics[%zu]", i);
        if (read_metric(r, json_array_get(list, i), where, &m) ||
            add_metric(r, &m, where, regions, &n_regions, metrics, &n_metrics))
            return r->err->code;
    }
    r->own->headline = n_regions   ? pk_printf(r->a, "%s_ns", regions[0].name)
                       : n_metrics ? metrics[0].name
                                   : NULL;
    return PK_OK;
}

/* --- presets ---------------------------------------------------------------------------------------------------------------- */

static enum pk_code texts_of(const struct reading *r, const json_t *j, const char *where, const char *key,
                             const char ***out)
{
    const json_t *list;
    if (pk_descriptor_list(r, j, key, PK_OWN_PRESETS_MAX, &list))
        return r->err->code;
    const size_t n = json_array_size(list);
    *out = n ? pk_new_n(r->a, const char *, n + 1) : NULL;
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_string(v) || json_string_length(v) > PK_OWN_TEXT_MAX ||
            !pk_descriptor_is_plain(json_string_value(v), json_string_length(v)))
            return pk_descriptor_refuse(r, where, "`%s` is not a list of short texts", key);
        (*out)[i] = pk_strdup(r->a, json_string_value(v));
    }
    return PK_OK;
}

/* How long and how often, and nothing else. */
static enum pk_code check_setting(const struct reading *r, const char *where, const char *setting)
{
    static const char *const may[] = {"invocations", "min-samples", "max-samples", "min-time", "max-time",
                                      "max-noise",   "warmup",      "timeout",     NULL};
    const char *name = pk_strndup(r->a, setting, strcspn(setting, "="));
    return strchr(setting, '=') && pk_descriptor_has(may, sizeof may / sizeof *may - 1, name)
               ? PK_OK
               : pk_descriptor_refuse(r, where, "a setting is not one of %s, with a value",
                                      pk_list(may, SIZE_MAX, ", ", r->a));
}

static enum pk_code read_preset(const struct reading *r, const json_t *j, const char *where,
                                struct pk_preset *p)
{
    static const char *const whole[] = {"", NULL};
    const char **blocks, **settings, **variants;
    struct pk_err bad;
    if (pk_descriptor_name(r, where, json_object_get(j, "name"), PK_NAME_EXPERIMENT, &p->name) ||
        pk_descriptor_text(r, j, where, "summary", "", &p->summary) ||
        texts_of(r, j, where, "blocks", &blocks) || texts_of(r, j, where, "settings", &settings) ||
        texts_of(r, j, where, "variants", &variants))
        return r->err->code;
    p->blocks = blocks ? blocks : (const char *const *)whole;
    p->settings = settings;
    p->variants = variants;
    for (const char *const *b = p->blocks; *b; b++) {
        struct pk_sweep sweeps[PK_AXES_MAX] = {0};
        if (pk_sweeps_assign_all(r->own->probe.axes, *b, r->a, sweeps, &bad))
            return pk_descriptor_refuse(r, where, "%s: %s", bad.what, bad.why);
    }
    for (const char *const *s = p->settings; s && *s; s++)
        if (check_setting(r, where, *s))
            return r->err->code;
    for (const char *const *v = p->variants; v && *v; v++)
        if (variant_index(r->own->probe.variants, *v) < 0)
            return pk_descriptor_refuse(r, where, "`variants` names something else than a variant");
    return PK_OK;
}

static enum pk_code read_presets(struct reading *r, const json_t *j)
{
    const json_t *list;
    if (pk_descriptor_list(r, j, "presets", PK_OWN_PRESETS_MAX, &list))
        return r->err->code;
    const size_t n = json_array_size(list);
    struct pk_preset *v = n ? pk_new_n(r->a, struct pk_preset, n + 1) : NULL;
    for (size_t i = 0; i < n; i++)
        if (read_preset(r, json_array_get(list, i), pk_printf(r->a, "presets[%zu]", i), &v[i]))
            return r->err->code;
    r->own->probe.presets = v;
    return PK_OK;
}

/* --- the whole -------------------------------------------------------------------------------------------------------------- */

static enum pk_code read_devices(struct reading *r, const json_t *j)
{
    const json_t *list;
    if (pk_descriptor_list(r, j, "devices", PK_DEVICE_KINDS, &list))
        return r->err->code;
    if (!json_array_size(list))
        r->own->devices = 1u << PK_DEVICE_CPU;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        unsigned kind = 0;
        while (kind < PK_DEVICE_KINDS && (!name || strcmp(pk_device_kinds[kind]->kind, name) != 0))
            kind++;
        if (kind == PK_DEVICE_KINDS || kind == PK_DEVICE_NULL)
            return pk_descriptor_refuse(r, "devices", "a device is not cpu or cuda");
        r->own->devices |= 1u << kind;
    }
    return PK_OK;
}

static enum pk_code read_name(struct reading *r, const json_t *j)
{
    struct pk_probe *p = &r->own->probe;
    if (pk_descriptor_name(r, "name", json_object_get(j, "name"), PK_NAME_EXPERIMENT, &p->name) ||
        pk_descriptor_text(r, j, "summary", "summary", "", &p->summary))
        return r->err->code;
    if (pk_probe_find(p->name) || pk_is_exec(p->name))
        return pk_descriptor_refuse(r, "name", "'%s' is the name of something that perfkit has", p->name);
    const json_t *revision = json_object_get(j, "revision");
    const int64_t number = revision ? json_integer_value(revision) : 1;
    p->revision = (unsigned)number;
    return number >= 1 && number <= 1000000
               ? PK_OK
               : pk_descriptor_refuse(r, "revision", "it is not an integer from 1 to 1000000");
}

/* Names of sections become names of tables, keys and files. */
static enum pk_code check_sections(const struct reading *r, const char *sql)
{
    struct pk_section *v;
    struct pk_err bad;
    size_t n;
    const char *name;
    if (pk_sections(sql, r->a, &v, &n, &bad))
        return pk_descriptor_refuse(r, "sql", "%.*s", (int)strcspn(bad.what, "\n"), bad.what);
    if (!n)
        return pk_descriptor_refuse(r, "sql",
                                    "it has no section; a table begins with a line `-- table: NAME`");
    for (size_t i = 0; i < n; i++) {
        PK_JSON_CLEANUP json_t *text = json_string(v[i].name);
        if (pk_descriptor_name(r, pk_printf(r->a, "section %zu of sql", i + 1), text, PK_NAME_KEY, &name))
            return r->err->code;
    }
    return PK_OK;
}

static enum pk_code read_sql(struct reading *r, const json_t *j)
{
    const json_t *v = json_object_get(j, "sql");
    const char *s = json_string_value(v);
    r->own->has_sql = s && *s;
    if (v && !json_is_null(v) &&
        (!s || json_string_length(v) > PK_OWN_SQL_MAX || strlen(s) != json_string_length(v)))
        return pk_descriptor_refuse(r, "sql", "it is not a text of at most %d bytes", PK_OWN_SQL_MAX);
    for (const char *c = s; c && *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f)
            return pk_descriptor_refuse(r, "sql", "it has control characters");
    if (r->own->has_sql && check_sections(r, s))
        return r->err->code;
    r->own->probe.sql = r->own->has_sql ? pk_own_limited(s, r->a) : pk_own_tables(r->own, r->a);
    return PK_OK;
}

enum pk_code pk_descriptor_read(const json_t *j, const char *who, struct pk_arena *a, struct pk_own **out,
                                struct pk_err *err)
{
    struct pk_own *own = pk_new(a, struct pk_own);
    struct reading r = {a, own, who, err};
    own->probe.own = own;
    own->has_plan = pk_json_bool(j, "plan", false);
    if (read_name(&r, j) || pk_descriptor_axes(&r, j) || read_variants(&r, j) || read_metrics(&r, j) ||
        read_presets(&r, j) || read_devices(&r, j) || read_sql(&r, j))
        return err->code;
    own->json = pk_descriptor_as_text(j, own, a);
    *out = own;
    return PK_OK;
}
