/* pytest-benchmark: `pytest --benchmark-json=FILE`, or --benchmark-save, whose files have samples with --benchmark-save-data. Rounds of a
 * benchmark are samples of one process; times are seconds of one call. */
#include "import/reader.h"

#include <string.h>

#define S_TO_NS 1e9

static const struct pk_metric_decl time_ = PK_IMPORT_TIME("time_ns", "median");

/* "test_sorting.py::test_sort[up-100]" without its parameters, which are axes. */
static const char *name_of(struct pk_import_reader *r, const json_t *j, const json_t *params)
{
    const char *name = pk_field_text(r, j, "fullname"), *param = pk_field_text_or(r, j, "param", NULL);
    const size_t n = name ? strlen(name) : 0, tail = param ? strlen(param) + 2 : 0;
    if (name && params && tail && n > tail && name[n - tail] == '[' && name[n - 1] == ']' &&
        strncmp(name + n - tail + 1, param, tail - 2) == 0)
        return pk_strndup(r->a, name, n - tail);
    return name;
}

static void take_summary(struct pk_import_reader *r, struct pk_imported_metric *m, const json_t *stats)
{
    m->summary = (struct pk_summary){.n = (size_t)pk_field_count(r, stats, "rounds", 1),
                                     .median = pk_field_time(r, stats, "median", S_TO_NS),
                                     .mean = pk_field_time(r, stats, "mean", S_TO_NS),
                                     .sd = pk_field_time_or_nan(r, stats, "stddev", S_TO_NS),
                                     .min = pk_field_time_or_nan(r, stats, "min", S_TO_NS),
                                     .max = pk_field_time_or_nan(r, stats, "max", S_TO_NS)};
    m->dispersion = "standard deviation of the rounds, n - 1";
}

static void benchmark(struct pk_import_reader *r, const json_t *j)
{
    const json_t *params = pk_field_object(r, j, "params", false),
                 *stats = pk_field_object(r, j, "stats", true),
                 *extra = pk_field_object(r, j, "extra_info", false),
                 *data = pk_field_array(r, stats, "data", false);
    const char *name = name_of(r, j, params), *group = pk_field_text_or(r, j, "group", NULL);
    struct pk_imported_case *c = r->failed ? NULL : pk_import_new_case(r, name, "cpu", params);
    struct pk_imported_metric *m = c ? pk_import_metric(r, c, &time_) : NULL;
    if (!m)
        return;
    if (json_array_size(data))
        pk_import_samples(r, m, data, S_TO_NS);
    else
        take_summary(r, m, stats);
    pk_import_note(r, c, "iterations_per_round", json_integer(pk_field_count(r, stats, "iterations", 1)));
    pk_import_note(r, c, "group", group ? json_string(group) : NULL);
    pk_import_note(r, c, "extra_info", json_object_size(extra) ? json_deep_copy(extra) : NULL);
}

static void take_machine(struct pk_import_reader *r, const json_t *j)
{
    const json_t *info = pk_field_object(r, j, "machine_info", true),
                 *cpu = info ? pk_field_object(r, info, "cpu", false) : NULL;
    PK_JSON_CLEANUP json_t *machine = json_object();
    if (!info)
        return;
    const char *system = pk_field_text_or(r, info, "system", "");
    json_object_set_new(machine, "host", json_string(pk_field_text_or(r, info, "node", "")));
    json_object_set_new(machine, "arch", json_string(pk_field_text_or(r, info, "machine", "")));
    json_object_set_new(machine, "kernel", json_string(pk_field_text_or(r, info, "release", "")));
    json_object_set_new(machine, "os", json_string(system ? system : ""));
    json_object_set_new(machine, "cpu_model", json_string(pk_json_str(cpu, "brand_raw", "")));
    json_object_set_new(machine, "threads", json_integer(pk_json_int(cpu, "count", 0)));
    pk_import_machine(r, machine);
    pk_import_setting(r, "python_version", pk_field_text_or(r, info, "python_version", NULL));
    pk_import_setting(r, "python_implementation", pk_field_text_or(r, info, "python_implementation", NULL));
}

static void rest(struct pk_import_reader *r, const json_t *j)
{
    const char *version = pk_field_text(r, j, "version");
    const json_t *commit = pk_field_object(r, j, "commit_info", false);
    if (version && (strchr("345", *version) == NULL || version[1] != '.'))
        pk_import_version(r, pk_printf(r->a, "version %.40s of pytest-benchmark", version),
                          "versions 3 to 5");
    if (r->failed)
        return;
    pk_import_setting(r, "pytest_benchmark", version);
    r->out->started_ns = pk_import_date(pk_field_text_or(r, j, "datetime", NULL));
    r->out->git_commit = commit ? pk_field_text_or(r, commit, "id", NULL) : NULL;
    r->out->git_branch = commit ? pk_field_text_or(r, commit, "branch", NULL) : NULL;
    r->out->git_dirty = commit ? pk_json_bool(commit, "dirty", -1) : -1;
    take_machine(r, j);
}

const struct pk_import_source pk_import_pytest_benchmark = {
    .name = "pytest-benchmark",
    .files = "pytest --benchmark-json=FILE",
    .keys = {"machine_info", "benchmarks"},
    .list = "benchmarks",
    .element = benchmark,
    .rest = rest,
};
