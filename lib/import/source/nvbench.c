/* nvbench: `--json FILE`, or `--jsonbin FILE`, which also writes the times of samples, as little-endian floats, into files of a folder beside
 * it. A state of a benchmark (one value of each of its axes) is a case; all samples of a state are of one process. What was measured has
 * tags: nv/cold (a kernel alone, its caches flushed), nv/batch (launched back to back), nv/cpu_only. */
#include "import/reader.h"

#include "base/index.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S_TO_NS 1e9

/* A time: its summaries are TAG/mean, TAG/stdev/absolute ..., the number of its samples is that of `size`. */
static const struct time {
    const char *metric, *tag, *size;
    const char *samples; /* their file; NULL = it has none */
} times[] = {
    {"gpu_ns", "nv/cold/time/gpu", "nv/cold/sample_size", "nv/json/bin:nv/cold/sample_times"},
    {"cpu_ns", "nv/cold/time/cpu", "nv/cold/sample_size", NULL},
    {"batch_gpu_ns", "nv/batch/time/gpu", "nv/batch/sample_size", NULL},
    {"cpu_only_ns", "nv/cpu_only/time/cpu", "nv/cpu_only/sample_size",
     "nv/json/bin:nv/cpu_only/sample_times"},
};

#define MEAN_OF(name, unit, direction, class)                                                                \
    {                                                                                                        \
        name, unit, direction, class, "mean", "median", "reported"                                           \
    }

/* Anything else that has one value, by its tag. */
static const struct nvbench_value {
    const char *tag, *size;
    struct pk_metric_decl decl;
} values[] = {
    {"nv/cold/bw/item_rate", "nv/cold/sample_size", MEAN_OF("items_per_s", "items/s", "higher", "rate")},
    {"nv/cold/bw/global/bytes_per_second", "nv/cold/sample_size",
     MEAN_OF("bytes_per_s", "bytes/s", "higher", "rate")},
    {"nv/cold/bw/global/utilization", "nv/cold/sample_size",
     MEAN_OF("bandwidth_share", "", "higher", "rate")},
    {"nv/cold/sm_clock_rate/mean", "nv/cold/sample_size", MEAN_OF("sm_clock_hz", "Hz", "none", "rate")},
    {"nv/cpu_only/bw/item_rate", "nv/cpu_only/sample_size",
     MEAN_OF("items_per_s", "items/s", "higher", "rate")},
    {"nv/cpu_only/bw/global/bytes_per_second", "nv/cpu_only/sample_size",
     MEAN_OF("bytes_per_s", "bytes/s", "higher", "rate")},
};

/* Of other tags (a program's own, nv/cupti/...) the hint says the unit; which way is better is not known. */
static const struct hint {
    const char *name;
    double scale;
    struct pk_metric_decl decl; /* its name is the tag */
} hints[] = {
    {"duration", S_TO_NS, MEAN_OF(NULL, "ns", "none", "time")},
    {"bytes", 1, MEAN_OF(NULL, "bytes", "none", "memory")},
    {"byte_rate", 1, MEAN_OF(NULL, "bytes/s", "none", "rate")},
    {"item_rate", 1, MEAN_OF(NULL, "items/s", "none", "rate")},
    {"frequency", 1, MEAN_OF(NULL, "Hz", "none", "rate")},
    {"", 1, MEAN_OF(NULL, "", "none", "rate")}, /* any other */
};

enum { TIMES = sizeof times / sizeof *times, VALUES = sizeof values / sizeof *values };

/* --- named values: numbers are texts, because JSON would round integers ------------------------------------------------ */

/* NULL: there is none. */
static const json_t *value_named(struct pk_import_reader *r, const json_t *list, const char *name)
{
    size_t i;
    json_t *v;
    json_array_foreach((json_t *)list, i, v)
    {
        if (!r->failed && strcmp(pk_json_str(v, "name", ""), name) == 0)
            return v;
    }
    return NULL;
}

/* NaN: it is none, or it is not finite, as a deviation that is not known. */
static double number_of(struct pk_import_reader *r, const json_t *value)
{
    const char *text = pk_field_text_or(r, value, "value", NULL), *type = pk_json_str(value, "type", "");
    char *end = NULL;
    if (!text || (strcmp(type, "float64") != 0 && strcmp(type, "int64") != 0))
        return NAN;
    const double x = strtod(text, &end);
    if (!*text || *end)
        pk_import_problem(r, "'%.40s' is not a number", text);
    return isfinite(x) ? x : NAN;
}

/* The summary with this tag; NULL: there is none. */
static const json_t *summary_tagged(const json_t *summaries, const char *tag)
{
    size_t i;
    json_t *v;
    json_array_foreach((json_t *)summaries, i, v)
    {
        if (strcmp(pk_json_str(v, "tag", ""), tag) == 0)
            return v;
    }
    return NULL;
}

static double value_of(struct pk_import_reader *r, const json_t *summaries, const char *tag)
{
    const json_t *s = summary_tagged(summaries, tag), *data = s ? pk_field_array(r, s, "data", false) : NULL;
    const json_t *v = value_named(r, data, "value");
    return v ? number_of(r, v) : NAN;
}

static double time_of(struct pk_import_reader *r, const json_t *summaries, const char *tag, const char *part)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    const double ns = S_TO_NS * value_of(r, summaries, pk_printf(&own, "%s/%s", tag, part));
    if (ns < 0 || ns > PK_IMPORT_LARGEST)
        pk_import_problem(r, "%s/%s is below zero or too large", tag, part);
    return ns;
}

/* --- times ------------------------------------------------------------------------------------------------------------- */

/* Floats of 32 bits, the least significant byte first. */
static void read_floats(struct pk_import_reader *r, FILE *f, size_t n, struct pk_imported_metric *m)
{
    unsigned char b[4];
    for (size_t i = 0; i < n && !pk_import_stopped(r); i++) {
        float seconds;
        if (fread(b, sizeof b, 1, f) != 1) {
            pk_import_problem(r, "it ends after %zu of %zu samples", i, n);
            return;
        }
        r->hash = pk_fnv1a(r->hash, b, sizeof b);
        const uint32_t bits = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
        memcpy(&seconds, &bits, sizeof seconds);
        if (!(seconds >= 0))
            pk_import_problem(r, "sample %zu is not a time", i);
        pk_import_sample(r, m, (int64_t)i, S_TO_NS * (double)seconds);
    }
    if (!r->failed && getc(f) != EOF)
        pk_import_problem(r, "it has more than %zu samples", n);
}

/* FOLDER/NAME, the last two parts of what the file says, beside the file: older versions say it from where the program was started. */
static void take_samples(struct pk_import_reader *r, const json_t *summary, struct pk_imported_metric *m)
{
    const json_t *data = pk_field_array(r, summary, "data", true);
    const json_t *text = value_named(r, data, "filename"), *size = value_named(r, data, "size");
    const char *file = text ? pk_field_text(r, text, "value") : NULL;
    const double n = size ? number_of(r, size) : NAN;
    const char *json = r->path, *slash = strrchr(json, '/');
    if (!file || r->failed)
        return; /* writing it failed: the summaries are all there is */
    const char *name = strrchr(file, '/'), *part = name;
    while (part && part > file && part[-1] != '/')
        part--;
    if (!name || part == name || !name[1] || *part == '.' || name[1] == '.' || !(n >= 1 && n <= 1e9)) {
        pk_import_problem(r, "'%.100s' with %g samples is not a file of samples", file, n);
        return;
    }
    const char *beside = slash ? pk_strndup(r->a, json, (size_t)(slash - json) + 1) : "./";
    const char *folder = pk_printf(r->a, "%s%.*s", beside, (int)(name - part), part);
    const size_t line = r->line;
    const int fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        pk_import_problem(r, "%.200s: %s", folder, strerror(errno));
    FILE *f = fd < 0 ? NULL : pk_import_open(r, fd, folder, name + 1);
    if (f) {
        read_floats(r, f, (size_t)n, m);
        fclose(f);
    }
    if (fd >= 0)
        close(fd);
    r->line = line;
    r->path = r->failed ? r->path : json;
}

static void take_summary(struct pk_import_reader *r, struct pk_imported_metric *m, const struct time *t,
                         const json_t *summaries, double n)
{
    struct pk_summary *s = &m->summary;
    s->n = (size_t)n;
    s->median = time_of(r, summaries, t->tag, "median");
    s->mean = time_of(r, summaries, t->tag, "mean");
    s->min = time_of(r, summaries, t->tag, "min");
    s->max = time_of(r, summaries, t->tag, "max");
    s->sd = time_of(r, summaries, t->tag, "stdev/absolute");
    if (isnan(s->sd)) {
        PK_ARENA_CLEANUP struct pk_arena own = {0};
        s->sd = s->mean * value_of(r, summaries, pk_printf(&own, "%s/stdev/relative", t->tag));
    }
    m->dispersion = isnan(s->sd) ? NULL : "standard deviation of the samples, n - 1";
}

static void take_time(struct pk_import_reader *r, struct pk_imported_case *c, const struct time *t,
                      const json_t *summaries)
{
    const double mean = time_of(r, summaries, t->tag, "mean"), n = value_of(r, summaries, t->size);
    const json_t *file = t->samples ? summary_tagged(summaries, t->samples) : NULL;
    if (isnan(mean) || r->failed)
        return;
    const bool median = file || !isnan(time_of(r, summaries, t->tag, "median"));
    const struct pk_metric_decl decl = PK_IMPORT_TIME(t->metric, median ? "median" : "mean");
    struct pk_imported_metric *m = pk_import_metric(r, c, &decl);
    if (!(n >= 1 && n <= PK_IMPORT_LARGEST))
        pk_import_problem(r, "there is no number of samples, %s", t->size);
    if (!r->failed && file)
        take_samples(r, file, m);
    if (!r->failed && !m->n)
        take_summary(r, m, t, summaries, n);
    if (!r->failed && !m->n && isnan(m->summary.median))
        m->decl.combine = "mean";
}

/* --- other values ------------------------------------------------------------------------------------------------------ */

/* What a time's summaries are, and the numbers and files that belong to them. */
static bool is_of_a_time(const char *tag)
{
    static const char *const others[] = {"nv/json/", "nv/cold/walltime", "nv/batch/walltime",
                                         "nv/cpu_only/walltime", "nv/cold/sm_clock_rate/scaling/percent"};
    for (size_t i = 0; i < TIMES; i++)
        if (strncmp(tag, times[i].tag, strlen(times[i].tag)) == 0 || strcmp(tag, times[i].size) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(tag, others[i], strlen(others[i])) == 0)
            return true;
    return strcmp(tag, "nv/cupti/sample_size") == 0 || strcmp(tag, "nv/cupti/walltime") == 0;
}

static void add_value(struct pk_import_reader *r, struct pk_imported_case *c,
                      const struct pk_metric_decl *decl, double value, double n)
{
    struct pk_imported_metric *m = pk_import_metric(r, c, decl);
    if (!m)
        return;
    if (!(fabs(value) <= PK_IMPORT_LARGEST))
        pk_import_problem(r, "'%.100s' is too large", decl->name);
    m->summary.n = n >= 1 && n <= PK_IMPORT_LARGEST ? (size_t)n : 1;
    m->summary.mean = value;
}

static void take_value(struct pk_import_reader *r, struct pk_imported_case *c, const json_t *summary,
                       const json_t *summaries)
{
    const char *tag = pk_field_text(r, summary, "tag"), *hint = pk_json_str(summary, "hint", "");
    const double x = tag && !is_of_a_time(tag) ? value_of(r, summaries, tag) : NAN;
    size_t h = 0;
    if (isnan(x) || r->failed)
        return;
    for (size_t i = 0; i < VALUES; i++)
        if (strcmp(tag, values[i].tag) == 0) {
            add_value(r, c, &values[i].decl, x, value_of(r, summaries, values[i].size));
            return;
        }
    while (*hints[h].name && strcmp(hint, hints[h].name) != 0)
        h++;
    struct pk_metric_decl decl = hints[h].decl;
    decl.name = tag;
    add_value(r, c, &decl, x * hints[h].scale, 1);
}

/* --- states ------------------------------------------------------------------------------------------------------------ */

static json_t *axes_of(struct pk_import_reader *r, const json_t *state)
{
    const json_t *list = pk_field_array(r, state, "axis_values", false);
    json_t *axes = json_object(), *v;
    size_t i;
    json_array_foreach((json_t *)list, i, v)
    {
        const char *name = pk_field_text(r, v, "name"), *text = pk_field_text(r, v, "value");
        const double x = text && strcmp(pk_json_str(v, "type", ""), "string") != 0 ? number_of(r, v) : NAN;
        if (r->failed)
            break;
        if (isnan(x))
            json_object_set_new(axes, name, json_string(text));
        else if (strcmp(pk_json_str(v, "type", ""), "int64") == 0)
            json_object_set_new(axes, name, json_integer(strtoll(text, NULL, 10)));
        else
            json_object_set_new(axes, name, json_real(x));
    }
    return axes;
}

static void state(struct pk_import_reader *r, const char *benchmark, bool gpu, const json_t *j)
{
    PK_JSON_CLEANUP json_t *axes = axes_of(r, j);
    const json_t *summaries = pk_field_array(r, j, "summaries", false);
    const int64_t id = gpu && !r->failed ? pk_field_count(r, j, "device", 0) : 0;
    const char *device = gpu ? pk_printf(r->a, "cuda:%lld", (long long)id) : "cpu";
    struct pk_imported_case *c = r->failed ? NULL : pk_import_new_case(r, benchmark, device, axes);
    json_t *v;
    size_t i;
    if (!c)
        return;
    if (pk_json_bool(j, "is_skipped", 0)) {
        c->status = PK_ST_SKIPPED;
        c->message = pk_field_text_or(r, j, "skip_reason", "it was skipped");
        return;
    }
    for (i = 0; i < TIMES; i++)
        take_time(r, c, &times[i], summaries);
    json_array_foreach((json_t *)summaries, i, v)
    {
        take_value(r, c, v, summaries);
    }
    if (!r->failed && !c->n_metrics)
        pk_import_problem(r, "state '%.100s' has no summary", pk_json_str(j, "name", ""));
}

static void benchmark(struct pk_import_reader *r, const json_t *j)
{
    const char *name = pk_field_text(r, j, "name");
    const json_t *devices = pk_field_array(r, j, "devices", false),
                 *states = pk_field_array(r, j, "states", false);
    json_t *v;
    size_t i;
    json_array_foreach((json_t *)states, i, v)
    {
        if (!pk_import_stopped(r))
            state(r, name, json_array_size(devices) > 0, v);
    }
}

/* --- the file ---------------------------------------------------------------------------------------------------------- */

static void rest(struct pk_import_reader *r, const json_t *j)
{
    const json_t *meta = pk_field_object(r, j, "meta", true),
                 *version = meta ? pk_field_object(r, meta, "version", true) : NULL,
                 *format = version ? pk_field_object(r, version, "json", true) : NULL,
                 *tool = version ? pk_field_object(r, version, "nvbench", false) : NULL,
                 *devices = pk_field_array(r, j, "devices", false);
    const json_t *first = json_array_get(devices, 0);
    if (r->failed)
        return;
    if (pk_json_int(format, "major", 0) != 1)
        pk_import_version(
            r, pk_printf(r->a, "version %.40s of nvbench's JSON", pk_json_str(format, "string", "?")),
            "version 1");
    pk_import_setting(r, "nvbench", tool ? pk_field_text_or(r, tool, "string", NULL) : NULL);
    pk_import_setting(r, "gpu", first ? pk_field_text_or(r, first, "name", NULL) : NULL);
}

const struct pk_import_source pk_import_nvbench = {
    .name = "nvbench",
    .files = "--json FILE or --jsonbin FILE",
    .keys = {"meta", "devices", "benchmarks"},
    .list = "benchmarks",
    .element = benchmark,
    .rest = rest,
};
