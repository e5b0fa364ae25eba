/* nccl-tests, JSON: `all_reduce_perf ... -J FILE`. The cases are those of its text (nccl_tests.c); with -I 1 the file also has the time of each
 * iteration, which are samples. */
#include "import/reader.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define US_TO_NS 1e3
#define GB       1e9

static const struct nccl_value {
    const char *key;
    double scale;
    struct pk_metric_decl decl;
} values[] = {
    {"time", US_TO_NS, PK_IMPORT_TIME("time_ns", "median")},
    {"cpu_time", US_TO_NS, PK_IMPORT_TIME("cpu_ns", "median")},
    {"alg_bw", GB, {"algbw_bytes_per_s", "bytes/s", "higher", "rate", "median", "median", "reported"}},
    {"bus_bw", GB, {"busbw_bytes_per_s", "bytes/s", "higher", "rate", "median", "median", "reported"}},
};

static const struct pk_metric_decl iteration = PK_IMPORT_TIME("iteration_ns", "median");

struct nccl_json {
    struct pk_import_reader *r;
    const char *test;
    size_t ranks;
    int64_t iterations;
};

static json_t *axes_of(const struct nccl_json *n, const json_t *row, const char *where)
{
    struct pk_import_reader *r = n->r;
    const char *root = pk_field_text_or(r, row, "root", ""), *redop = pk_field_text_or(r, row, "redop", "");
    json_t *axes = json_object();
    if (r->failed)
        return axes;
    root += strspn(root, " ");
    json_object_set_new(axes, "bytes", json_integer(pk_field_count(r, row, "size", 0)));
    json_object_set_new(axes, "type", json_string(pk_field_text(r, row, "type")));
    json_object_set_new(axes, "place", json_string(where));
    if (*root && strcmp(root, "-1") != 0)
        json_object_set_new(axes, "root", json_string(root));
    if (*redop && strcmp(redop, "none") != 0)
        json_object_set_new(axes, "redop", json_string(redop));
    if (n->ranks)
        json_object_set_new(axes, "ranks", json_integer((json_int_t)n->ranks));
    return axes;
}

static void take_times(const struct nccl_json *n, struct pk_imported_case *c, const json_t *j,
                       const json_t *iterations)
{
    struct pk_import_reader *r = n->r;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const bool there = json_object_get(j, values[i].key) && !r->failed;
        struct pk_imported_metric *m = there ? pk_import_metric(r, c, &values[i].decl) : NULL;
        const double x = m ? pk_field_time(r, j, values[i].key, values[i].scale) : 0;
        if (m)
            pk_import_sample(r, m, (int64_t)m->n, x);
    }
    if (!r->failed && !c->n_metrics)
        pk_import_problem(r, "there is no time in it");
    const json_t *times = iterations ? pk_field_array(r, iterations, "times_us", true) : NULL;
    const int64_t skipped = pk_json_int(iterations, "skipped_iterations", 0); /* since version 3 */
    if (skipped < 0)
        pk_import_problem(r, "'skipped_iterations' is below zero");
    for (size_t i = (size_t)skipped; i < json_array_size(times) && !r->failed; i++) {
        const json_t *v = json_array_get(times, i);
        struct pk_imported_metric *m = pk_import_metric(r, c, &iteration);
        if (!json_is_number(v) || json_number_value(v) < 0)
            pk_import_problem(r, "times_us[%zu] is not a time", i);
        else if (m)
            pk_import_sample(r, m, (int64_t)m->n, json_number_value(v) * US_TO_NS);
    }
}

static void take_place(const struct nccl_json *n, const json_t *row, const char *key, const char *where)
{
    struct pk_import_reader *r = n->r;
    const json_t *j = pk_field_object(r, row, key, false),
                 *iterations = pk_field_object(r, row, pk_printf(r->a, "%s_per_iter", key), false);
    if (!j || r->failed)
        return;
    PK_JSON_CLEANUP json_t *axes = axes_of(n, row, where);
    struct pk_imported_case *c = r->failed ? NULL : pk_import_case(r, n->test, "cuda", axes);
    const double wrong = c ? pk_field_number_or_nan(r, j, "nwrong") : 0;
    if (!c || c->status != PK_ST_OK)
        return;
    if (wrong > 0) { /* what is wrong has no time */
        c->status = PK_ST_FAILED;
        c->message = pk_printf(r->a, "%.0f wrong values", wrong);
        c->n_metrics = 0;
        return;
    }
    take_times(n, c, j, iterations);
    if (n->iterations)
        pk_import_note(r, c, "iterations_per_sample", json_integer((json_int_t)n->iterations));
}

/* The program's name in argv[0], without its folder. */
static const char *test_of(struct pk_import_reader *r, const json_t *args)
{
    const char *path = json_string_value(json_array_get(args, 0));
    return path && strlen(path) <= PK_IMPORT_TEXT_MAX ? pk_strdup(r->a, pk_path_name(path)) : "nccl-tests";
}

static void take_config(struct nccl_json *n, const json_t *config)
{
    static const char *const keys[][2] = {{"warmup_iters", "nccl_tests.warmup iters"},
                                          {"iterations", "nccl_tests.iters"},
                                          {"aggregated_iterations", "nccl_tests.agg iters"},
                                          {"graph", "nccl_tests.graph"}};
    struct pk_import_reader *r = n->r;
    const json_t *devices = pk_field_array(r, config, "devices", false);
    const json_t *first = json_array_get(devices, 0);
    PK_JSON_CLEANUP json_t *machine = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_is_integer(json_object_get(config, keys[i][0])))
            pk_import_setting(r, keys[i][1],
                              pk_printf(r->a, "%lld", (long long)pk_json_int(config, keys[i][0], 0)));
    n->ranks = json_array_size(devices);
    n->iterations = pk_json_int(config, "iterations", 0);
    pk_import_setting(r, "gpu", first ? pk_field_text_or(r, first, "device_info", NULL) : NULL);
    json_object_set_new(machine, "host", json_string(first ? pk_json_str(first, "hostname", "") : ""));
    pk_import_machine(r, machine);
}

static void whole(struct pk_import_reader *r, const json_t *j)
{
    const json_t *config = pk_field_object(r, j, "config", true),
                 *rows = pk_field_array(r, j, "results", true);
    struct nccl_json n = {.r = r, .test = test_of(r, json_object_get(j, "args"))};
    json_t *row;
    const int64_t version = pk_json_int(j, "version", 0);
    if (!r->failed && (version < 1 || version > 3))
        pk_import_version(r, "this version of the JSON of nccl-tests", "versions 1 to 3");
    if (!r->failed && !json_object_get(j, "end_time"))
        pk_import_problem(r, "it has no 'end_time': the test did not end");
    if (r->failed)
        return;
    r->out->started_ns = pk_import_date(pk_field_text_or(r, j, "start_time", NULL));
    take_config(&n, config);
    r->member = "results";
    for (r->at = 0; r->at < json_array_size(rows) && !pk_import_stopped(r); r->at++) {
        row = json_array_get(rows, r->at);
        take_place(&n, row, "out_of_place", "out-of-place");
        take_place(&n, row, "in_place", "in-place");
    }
}

const struct pk_import_source pk_import_nccl_tests_json = {
    .name = "nccl-tests",
    .files = "all_reduce_perf -J FILE",
    .keys = {"nccl_version", "config", "results"},
    .rest = whole,
};
