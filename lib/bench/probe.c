/* Probe: finding a descriptor, and the metric rows that follow from it. */
#include "bench/probe.h"

#include "base/build.h"
#include "base/err.h"
#include "base/text/words.h"
#include "opt/opt.h"
#include "wire/slice.h"

#include <string.h>

extern const struct pk_embedded pk_probe_tables[]; /* generated: probes/meson.build */

bool pk_is_exec(const char *experiment)
{
    return strcmp(experiment, "exec") == 0;
}

const struct pk_probe *pk_probe_find(const char *name)
{
    for (const struct pk_probe *const *p = pk_probes; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

void pk_probe_names(struct pk_texts *names, struct pk_arena *a)
{
    for (const struct pk_probe *const *p = pk_probes; *p; p++)
        if (!(*p)->hidden)
            pk_texts_add(names, (*p)->name, a);
}

enum pk_code pk_probe_named(const char *name, const struct pk_probe **p, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_texts names = {0};
    if ((*p = pk_probe_find(name)))
        return PK_OK;
    pk_probe_names(&names, &a);
    pk_fail(err, PK_E_USAGE, "there is no experiment '%.100s'", name);
    pk_why(err, "experiments are listed by `perfkit list experiments`");
    return pk_fix(err, "%s", pk_suggest_text(&a, name, names.v, names.n));
}

/* "attention-scaling" is described by attention_scaling.sql. */
static bool is_sql_of(const char *file, const char *probe)
{
    size_t n = strlen(probe);
    for (size_t i = 0; i < n; i++)
        if (file[i] != (probe[i] == '-' ? '_' : probe[i]))
            return false;
    return strcmp(file + n, ".sql") == 0;
}

const char *pk_probe_sql(const struct pk_probe *p)
{
    if (p->sql)
        return p->sql;
    for (const struct pk_embedded *e = pk_probe_tables; e->name; e++)
        if (is_sql_of(e->name, p->name))
            return e->text;
    return "";
}

bool pk_region_applies(const struct pk_case *c, unsigned region)
{
    const struct pk_region *r = &c->probe->regions[region];
    return !r->applies || r->applies(c);
}

int pk_region_around(const struct pk_case *c, unsigned region)
{
    const struct pk_region *rows = c->probe->regions;
    int at = (int)region;
    do {
        const char *outer = rows[at].inside;
        at = -1;
        for (int i = 0; outer && rows[i].name && at < 0; i++)
            at = strcmp(rows[i].name, outer) == 0 ? i : -1;
    } while (at >= 0 && !pk_region_applies(c, (unsigned)at));
    return at;
}

const struct pk_preset *pk_probe_presets(const struct pk_probe *p)
{
    static const char *const none[] = {"", NULL};
    static const struct pk_preset defaults[] = {
        {"default", .summary = "every axis at its default", .blocks = none}, {0}};
    return p->presets ? p->presets : defaults;
}

int64_t pk_probe_peak_bytes(const struct pk_case *c, enum pk_device_kind kind)
{
    return c->probe->predict ? c->probe->predict(c, kind, PK_PEAK_BYTES) : -1;
}

json_t *pk_ctx_note(struct pk_ctx *ctx, const char *key, json_t *value)
{
    if (!ctx->notes)
        ctx->notes = json_object();
    json_object_set_new(ctx->notes, key, value);
    return value;
}

/* Memory grows with the axis. */
int64_t pk_probe_largest(const struct pk_case *c, enum pk_device_kind kind, int64_t limit_bytes)
{
    const size_t row = (size_t)pk_axis_index(c->probe->axes, c->probe->shrink);
    struct pk_case tried = *c;
    int64_t most = (int64_t)c->probe->axes[row].min - 1, beyond = (int64_t)c->probe->axes[row].max + 1;
    while (beyond - most > 1) {
        const int64_t half = most + (beyond - most) / 2;
        tried.at.v[row].i = half;
        if (pk_probe_peak_bytes(&tried, kind) <= limit_bytes)
            most = half;
        else
            beyond = half;
    }
    return most;
}

static const char *const directions[] = {
    [PK_LOWER_IS_BETTER] = "lower", [PK_HIGHER_IS_BETTER] = "higher", [PK_NO_DIRECTION] = "none"};
static const char *const classes[] = {[PK_CLASS_TIME] = "time",
                                      [PK_CLASS_EXACT] = "exact",
                                      [PK_CLASS_RATE] = "rate",
                                      [PK_CLASS_MEMORY] = "memory"};
static const char *const combines[] = {[PK_COMBINE_MEDIAN] = "median",
                                       [PK_COMBINE_MIN] = "min",
                                       [PK_COMBINE_MAX] = "max",
                                       [PK_COMBINE_SUM] = "sum",
                                       [PK_COMBINE_MEAN] = "mean"};

/* What a rank waits for is the slowest rank: times combine as the maximum over ranks. */
static struct pk_metric_decl time_of_region(struct pk_arena *a, const char *region, const char *suffix)
{
    return (struct pk_metric_decl){.name = pk_printf(a, "%s%s", region, suffix),
                                   .unit = "ns",
                                   .direction = "lower",
                                   .class = "time",
                                   .combine = "median",
                                   .ranks = "max",
                                   .source = "region"};
}

const struct pk_metric pk_peak_metric = {"peak_bytes", .unit = "bytes", .summary = "peak memory of the case",
                                         PK_MEMORY_METRIC};

static struct pk_metric_decl decl_of(const struct pk_metric *m)
{
    return (struct pk_metric_decl){.name = m->name,
                                   .unit = m->unit,
                                   .direction = directions[m->direction],
                                   .class = classes[m->class],
                                   .combine = combines[m->over_samples],
                                   .ranks = combines[m->over_ranks],
                                   .source = m->class == PK_CLASS_EXACT    ? "mark"
                                             : m->class == PK_CLASS_MEMORY ? "allocator"
                                                                           : "reported"};
}

size_t pk_probe_metrics(const struct pk_probe *p, struct pk_arena *a, struct pk_metric_decl **out)
{
    size_t n_regions = 0, n_metrics = 0, n = 0;
    while (p->regions[n_regions].name)
        n_regions++;
    while (p->metrics && p->metrics[n_metrics].name)
        n_metrics++;
    struct pk_metric_decl *v = pk_new_n(a, struct pk_metric_decl, 2 * n_regions + n_metrics + 1);
    for (size_t r = 0; r < n_regions; r++) {
        v[n++] = time_of_region(a, p->regions[r].name, "_ns");
        v[n++] = time_of_region(a, p->regions[r].name, "_host_ns");
    }
    for (size_t m = 0; m < n_metrics; m++)
        v[n++] = decl_of(&p->metrics[m]);
    v[n++] = decl_of(&pk_peak_metric);
    *out = v;
    return n;
}
