/* google-benchmark: `--benchmark_out=FILE --benchmark_out_format=json`. A row is a repetition of a benchmark, which is one sample: the mean over
 * its iterations. Aggregates count only where the file has no repetitions (--benchmark_report_aggregates_only). */
#include "import/reader.h"

#include "base/text/words.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/* Metrics with a meaning of their own; any other number of a row is a counter of the user. */
static const struct known {
    const char *key;
    bool is_time; /* in time_unit */
    struct pk_metric_decl decl;
} metrics[] = {
    {"real_time", true, PK_IMPORT_TIME("real_ns", "median")},
    {"cpu_time", true, PK_IMPORT_TIME("cpu_ns", "median")},
    {"bytes_per_second", false, {"bytes_per_s", "bytes/s", "higher", "rate", "median", "median", "reported"}},
    {"items_per_second", false, {"items_per_s", "items/s", "higher", "rate", "median", "median", "reported"}},
    {"max_bytes_used", false, {"peak_bytes", "bytes", "lower", "memory", "median", "median", "reported"}},
    {"allocs_per_iter", false, {"allocations", "", "lower", "rate", "median", "median", "reported"}},
};

static const char *const not_metrics[] = {"name",
                                          "family_index",
                                          "per_family_instance_index",
                                          "run_name",
                                          "run_type",
                                          "repetitions",
                                          "repetition_index",
                                          "threads",
                                          "iterations",
                                          "time_unit",
                                          "label",
                                          "aggregate_name",
                                          "aggregate_unit",
                                          "big_o",
                                          "cpu_coefficient",
                                          "rms",
                                          "real_coefficient",
                                          "error_occurred",
                                          "error_message",
                                          "skipped",
                                          "skip_message",
                                          "total_allocated_bytes",
                                          "net_heap_growth"};

/* --- the case of a row ------------------------------------------------------------------------------------------------ */

static bool is_integer(const char *s)
{
    s += *s == '-';
    return *s && strspn(s, "0123456789") == strlen(s) && strlen(s) < 18;
}

static json_t *axis_of_text(const char *s)
{
    return is_integer(s) ? json_integer(strtoll(s, NULL, 10)) : json_string(s);
}

/* Parts of a name that say how it was measured. */
static bool is_setting(const char *part)
{
    static const char *const words[] = {"iterations:", "repeats:",    "min_time:",    "min_warmup_time:",
                                        "real_time",   "manual_time", "process_time", "threads:"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i]);
        if (words[i][n - 1] == ':' ? strncmp(part, words[i], n) == 0 : strcmp(part, words[i]) == 0)
            return true;
    }
    return false;
}

/* "rows:32" or "32". */
static bool is_argument(const char *part)
{
    const char *colon = strchr(part, ':');
    return is_integer(part) || (colon && colon > part && colon[1] && colon[1] != ':');
}

/* "BM_sum<double>/rows:32/64/real_time" is BM_sum<double> with rows=32 and arg1=64: arguments are what follows the first part at the end. */
static const char *split_name(struct pk_import_reader *r, const char *name, json_t *axes)
{
    char *own = pk_strdup(r->a, name);
    size_t place = 0;
    for (char *p = own; (p = strchr(p, '/')); p++) {
        bool all = true;
        for (const char *rest = p + 1, *part; all && (part = pk_next_part(&rest, '/', r->a));)
            all = is_setting(part) || is_argument(part);
        if (!all)
            continue;
        *p = '\0';
        for (const char *rest = p + 1, *part; (part = pk_next_part(&rest, '/', r->a));) {
            const char *colon = strchr(part, ':');
            if (is_setting(part))
                continue;
            const char *key =
                colon ? pk_strndup(r->a, part, (size_t)(colon - part)) : pk_printf(r->a, "arg%zu", place);
            place++;
            json_object_set_new(axes, key, axis_of_text(colon ? colon + 1 : part));
        }
        return own;
    }
    return own;
}

static struct pk_imported_case *case_of(struct pk_import_reader *r, const json_t *j)
{
    const char *name = pk_field_text_or(r, j, "run_name", NULL);
    PK_JSON_CLEANUP json_t *axes = json_object();
    if (!name)
        name = pk_field_text(r, j, "name");
    if (!name)
        return NULL;
    const char *variant = split_name(r, name, axes);
    const json_t *threads = json_object_get(j, "threads");
    if (json_is_integer(threads) && json_integer_value(threads) != 1)
        json_object_set(axes, "threads", (json_t *)threads);
    return pk_import_case(r, variant, "cpu", axes);
}

/* --- its values ------------------------------------------------------------------------------------------------------- */

static double ns_of_unit(struct pk_import_reader *r, const json_t *j)
{
    const char *unit = pk_field_text_or(r, j, "time_unit", "ns");
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ns;
    if (unit)
        pk_import_problem(r, "time_unit '%.40s' is none of ns, us, ms, s", unit);
    return NAN;
}

static bool counts(const char *key, const json_t *v)
{
    if (!json_is_number(v))
        return false;
    for (size_t i = 0; i < sizeof not_metrics / sizeof *not_metrics; i++)
        if (strcmp(key, not_metrics[i]) == 0)
            return false;
    return true;
}

static struct pk_imported_metric *metric_of(struct pk_import_reader *r, struct pk_imported_case *c,
                                            const char *key, double ns, double *scale)
{
    *scale = 1;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        if (strcmp(key, metrics[i].key) != 0)
            continue;
        *scale = metrics[i].is_time ? ns : 1;
        return pk_import_metric(r, c, &metrics[i].decl);
    }
    if (strlen(key) > PK_IMPORT_TEXT_MAX)
        pk_import_problem(r, "a counter whose name has more than %d bytes", PK_IMPORT_TEXT_MAX);
    const struct pk_metric_decl counter = {
        pk_strdup(r->a, key), "", "none", "rate", "median", "median", "reported"};
    return pk_import_metric(r, c, &counter);
}

static void repetition(struct pk_import_reader *r, struct pk_imported_case *c, const json_t *j)
{
    const double ns = ns_of_unit(r, j);
    const int64_t ordinal = pk_json_int(j, "repetition_index", 0);
    const char *key;
    json_t *v;
    double scale;
    pk_field_time(r, j, "real_time", 1);
    json_object_foreach((json_t *)j, key, v)
    {
        struct pk_imported_metric *m = !r->failed && counts(key, v) ? metric_of(r, c, key, ns, &scale) : NULL;
        if (m)
            pk_import_sample(r, m, ordinal, json_number_value(v) * scale);
    }
}

/* What an aggregate is of a summary; others (BigO, RMS, those of the user) have no place in it. cv follows from two of these. */
static double *place_of(struct pk_imported_metric *m, const char *aggregate)
{
    const struct {
        const char *name;
        double *at;
    } places[] = {{"median", &m->summary.median},
                  {"mean", &m->summary.mean},
                  {"stddev", &m->summary.sd},
                  {"min", &m->summary.min},
                  {"max", &m->summary.max}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(aggregate, places[i].name) == 0)
            return places[i].at;
    return NULL;
}

static void aggregate(struct pk_import_reader *r, struct pk_imported_case *c, const json_t *j)
{
    const char *name = pk_field_text(r, j, "aggregate_name"), *key;
    const double ns = ns_of_unit(r, j);
    double scale;
    json_t *v;
    json_object_foreach((json_t *)j, key, v)
    {
        struct pk_imported_metric *m = !r->failed && counts(key, v) ? metric_of(r, c, key, ns, &scale) : NULL;
        double *at = m ? place_of(m, name) : NULL;
        if (!at)
            continue;
        m->summary.n = (size_t)pk_field_count(r, j, "repetitions", 1);
        m->dispersion = "standard deviation of the repetitions, n - 1";
        *at = json_number_value(v) * scale;
        if (!(fabs(*at) <= PK_IMPORT_LARGEST))
            pk_import_problem(r, "'%.100s' is too large", key);
    }
}

/* What was skipped or failed has no times. */
static bool refused(struct pk_import_reader *r, struct pk_imported_case *c, const json_t *j)
{
    const bool failed = pk_json_bool(j, "error_occurred", 0),
               skipped = pk_json_bool(j, "skipped", 0) || json_is_string(json_object_get(j, "skipped"));
    if (!failed && !skipped)
        return false;
    c->status = failed ? PK_ST_FAILED : PK_ST_SKIPPED;
    c->message = pk_field_text_or(r, j, failed ? "error_message" : "skip_message",
                                  failed ? "it failed" : "it was skipped");
    return true;
}

static void row(struct pk_import_reader *r, const json_t *j)
{
    const char *type = pk_field_text_or(r, j, "run_type", "iteration");
    struct pk_imported_case *c = case_of(r, j);
    if (!c || refused(r, c, j))
        return;
    const char *label = pk_field_text_or(r, j, "label", NULL);
    if (label)
        pk_import_note(r, c, "label", json_string(label));
    if (strcmp(type, "aggregate") == 0)
        aggregate(r, c, j);
    else
        repetition(r, c, j);
}

/* --- the machine ------------------------------------------------------------------------------------------------------ */

static void add_caches(const json_t *context, json_t *machine)
{
    static const char *const names[] = {NULL, "l1d_bytes", "l2_bytes", "l3_bytes"};
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(context, "caches"), i, v)
    {
        const int64_t level = pk_json_int(v, "level", 0);
        if (level >= 1 && level <= 3 && strcmp(pk_json_str(v, "type", ""), "Instruction") != 0)
            json_object_set_new(machine, names[level], json_integer(pk_json_int(v, "size", 0)));
    }
}

static void context(struct pk_import_reader *r, const json_t *j)
{
    const json_t *c = pk_field_object(r, j, "context", true);
    PK_JSON_CLEANUP json_t *machine = json_object();
    if (!c)
        return;
    if (json_object_get(c, "json_schema_version") && pk_json_int(c, "json_schema_version", 0) != 1)
        pk_import_version(r, "this version of the JSON (json_schema_version)", "version 1");
    json_object_set_new(machine, "host", json_string(pk_field_text_or(r, c, "host_name", "")));
    json_object_set_new(machine, "threads", json_integer(pk_json_int(c, "num_cpus", 0)));
    add_caches(c, machine);
    pk_import_machine(r, machine);
    r->out->started_ns = pk_import_date(pk_field_text_or(r, c, "date", NULL));
    pk_import_setting(r, "library_build_type", pk_field_text_or(r, c, "library_build_type", NULL));
    pk_import_setting(r, "library_version", pk_field_text_or(r, c, "library_version", NULL));
}

const struct pk_import_source pk_import_google_benchmark = {
    .name = "google-benchmark",
    .files = "--benchmark_out=FILE --benchmark_out_format=json",
    .keys = {"context", "benchmarks"},
    .list = "benchmarks",
    .element = row,
    .rest = context,
};
