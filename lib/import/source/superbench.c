/* SuperBench: results-summary.jsonl, a line for each node with BENCHMARK/[RUN/]METRIC[:RANK] of all its benchmarks, or results.json of one
 * rank, a list of benchmarks with what each run had, and the steps of models as samples. Neither has units: they follow from the name. */
#include "import/reader.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define TIME_OF(x) x, PK_IMPORT_TIME("time_ns", "median")
#define RATE(x, name, unit)                                                                                  \
    x,                                                                                                       \
    {                                                                                                        \
        name, unit, "higher", "rate", "median", "median", "reported"                                         \
    }
#define BANDWIDTH(x) RATE(x, "bytes_per_s", "bytes/s")

/* The first one that matches BENCHMARK/METRIC. docs/user-tutorial/benchmarks of SuperBench has the units. */
static const struct rule {
    const char *pattern;
    double scale;
    struct pk_metric_decl decl;
} rules[] = {
    {"monitor/*", 1, {"value", "", "none", "rate", "median", "median", "reported"}},
    {"*_algbw", BANDWIDTH(1e9)},
    {"*_busbw", BANDWIDTH(1e9)},
    {"nccl-bw*_time", TIME_OF(1e3)},
    {"rccl-bw*_time", TIME_OF(1e3)},
    {"cublas-function*_time", TIME_OF(1e3)},
    {"cudnn-function*_time", TIME_OF(1e3)},
    {"kernel-launch*_time", TIME_OF(1e6)},
    {"ort-inference*_time*", TIME_OF(1e6)},
    {"tensorrt-inference*_time*", TIME_OF(1e6)},
    {"tcp-connectivity*_time_*", TIME_OF(1e6)},
    {"*step_time*", TIME_OF(1e6)},
    {"*steptime_*", TIME_OF(1e6)}, /* of models before 0.6 */
    {"pytorch-*_time", TIME_OF(1e6)},
    {"cpu-hpl*/time", TIME_OF(1e9)},
    {"cpu-hpl*/throughput", RATE(1e9, "flops_per_s", "FLOP/s")},
    {"cpu-stream*_time_*", TIME_OF(1e9)},
    {"cpu-stream*_throughput", BANDWIDTH(1e6)},
    {"cpu-memory-bw-latency*_lat", TIME_OF(1)},
    {"cpu-memory-bw-latency*_bw", BANDWIDTH(1e6)},
    {"mem-bw*_bw", BANDWIDTH(1e9)},
    {"gpu-copy-bw*_bw", BANDWIDTH(1e9)},
    {"gpu-stream*_bw", BANDWIDTH(1e9)},
    {"nvbandwidth*_bw", BANDWIDTH(1e9)},
    {"nvbandwidth*_lat", TIME_OF(1e3)},
    {"ib-loopback*_bw_*", BANDWIDTH(1e9)},
    {"ib-traffic*_bw_*", BANDWIDTH(1e9)},
    {"ib-traffic*_lat_*", TIME_OF(1e3)},
    {"cublaslt-gemm*_flops", RATE(1e12, "flops_per_s", "FLOP/s")},
    {"hipblaslt-gemm*_flops", RATE(1e12, "flops_per_s", "FLOP/s")},
    {"gemm-flops*_flops", RATE(1e9, "flops_per_s", "FLOP/s")},
    {"gemm-flops*_iops", RATE(1e9, "ops_per_s", "op/s")},
    {"disk-benchmark*_lat_ns_*", TIME_OF(1)},
    {"disk-benchmark*_iops", RATE(1, "ops_per_s", "op/s")},
    {"*_tflops", RATE(1e12, "flops_per_s", "FLOP/s")},
    {"*_mem_allocated", 1e9, {"bytes", "bytes", "lower", "memory", "median", "median", "reported"}},
    {"*throughput*", RATE(1, "items_per_s", "items/s")},
    {"*", 1, {"value", "", "none", "rate", "median", "median", "reported"}},
};

/* BENCHMARK/METRIC of a run of a rank. */
struct name {
    const char *full, *benchmark;
    int64_t run;
    long rank; /* -1 = none */
};

static struct pk_imported_case *case_of(struct pk_import_reader *r, const char *variant, const char *node,
                                        long rank)
{
    PK_JSON_CLEANUP json_t *axes = json_object();
    if (node)
        json_object_set_new(axes, "node", json_string(node));
    if (rank >= 0)
        json_object_set_new(axes, "rank", json_integer(rank));
    return r->failed ? NULL : pk_import_case(r, variant, "host", axes);
}

static void take_value(struct pk_import_reader *r, struct pk_imported_case *c, const char *name,
                       int64_t ordinal, const json_t *v)
{
    size_t i = 0;
    if (!c || json_is_null(v))
        return;
    if (!json_is_number(v)) {
        pk_import_problem(r, "'%.200s' is not a number", name);
        return;
    }
    while (fnmatch(rules[i].pattern, name, 0) != 0)
        i++;
    struct pk_imported_metric *m = pk_import_metric(r, c, &rules[i].decl);
    if (m)
        pk_import_sample(r, m, ordinal, json_number_value(v) * rules[i].scale);
}

static void fail_case(struct pk_import_reader *r, struct pk_imported_case *c, json_int_t code)
{
    if (!c || !code)
        return;
    c->status = PK_ST_FAILED;
    c->message = pk_printf(r->a, "return code %lld", (long long)code);
}

/* --- results-summary.jsonl --------------------------------------------------------------------------------------------- */

/* A digit run, that is a number: of a path's part. */
static bool is_number(const char *from, const char *to)
{
    return to > from && to - from < 9 && strspn(from, "0123456789") >= (size_t)(to - from);
}

/* Takes "benchmark/1/metric:3" apart: its run is 1, its rank is 3. */
static struct name parse_name(struct pk_import_reader *r, const char *key)
{
    const char *slash = strrchr(key, '/'), *colon = strrchr(key, ':');
    struct name n = {.rank = -1};
    if (colon && colon > slash && is_number(colon + 1, key + strlen(key)))
        n.rank = strtol(colon + 1, NULL, 10);
    else
        colon = key + strlen(key);
    const char *run = slash;
    while (run > key && run[-1] != '/')
        run--;
    const bool has_run = run > key && is_number(run, slash);
    n.run = has_run ? strtol(run, NULL, 10) : 0;
    n.benchmark = pk_strndup(r->a, key, (size_t)((has_run ? run - 1 : slash) - key));
    n.full = pk_printf(r->a, "%s%.*s", n.benchmark, (int)(colon - slash), slash);
    return n;
}

static void take_node(struct pk_import_reader *r, const json_t *j)
{
    const char *node = pk_field_text(r, j, "node"), *key;
    json_t *v;
    json_object_foreach((json_t *)j, key, v)
    {
        if (r->failed || strcmp(key, "node") == 0)
            continue;
        const char *slash = strrchr(key, '/');
        if (!slash || slash == key || !slash[1] || strlen(key) > PK_IMPORT_TEXT_MAX) {
            pk_import_problem(r, "'%.200s' is not BENCHMARK/METRIC", key);
            return;
        }
        const struct name n = parse_name(r, key);
        const char *metric = strrchr(n.full, '/') + 1;
        if (strcmp(metric, "return_code") != 0)
            take_value(r, case_of(r, n.full, node, n.rank), n.full, n.run, v);
        else if (json_is_integer(v) && json_integer_value(v))
            fail_case(r, case_of(r, n.benchmark, node, n.rank), json_integer_value(v));
    }
}

/* --- results.json ------------------------------------------------------------------------------------------------------ */

/* A list of numbers for each run: the steps of a model. Other raw data are the texts that programs printed. */
static bool has_samples(const json_t *runs)
{
    size_t i, k;
    json_t *run, *v;
    json_array_foreach((json_t *)runs, i, run)
    {
        if (!json_is_array(run) || !json_array_size(run))
            return false;
        json_array_foreach(run, k, v)
        {
            if (!json_is_number(v))
                return false;
        }
    }
    return json_array_size(runs) > 0;
}

static void take_list(struct pk_import_reader *r, const char *benchmark, const char *metric,
                      const json_t *list, bool nested)
{
    const char *full = pk_printf(r->a, "%s/%s", benchmark, metric);
    struct pk_imported_case *c = case_of(r, full, NULL, -1);
    int64_t ordinal = 0;
    size_t i, k;
    json_t *run, *v;
    json_array_foreach((json_t *)list, i, run)
    {
        if (!nested)
            take_value(r, c, full, ordinal++, run);
        else
            json_array_foreach(run, k, v)
            {
                take_value(r, c, full, ordinal++, v);
            }
    }
}

static void take_benchmark(struct pk_import_reader *r, const json_t *j)
{
    const char *name = pk_field_text(r, j, "name"), *metric;
    const json_t *raw = pk_field_object(r, j, "raw_data", false),
                 *result = pk_field_object(r, j, "result", true);
    const json_int_t code = r->failed ? 0 : pk_field_count(r, j, "return_code", INT32_MIN);
    json_t *v;
    if (!r->out->started_ns)
        r->out->started_ns = pk_import_date(pk_field_text_or(r, j, "start_time", NULL));
    if (code)
        fail_case(r, case_of(r, name, NULL, -1), code);
    json_object_foreach((json_t *)result, metric, v)
    {
        const json_t *samples = json_object_get(raw, metric);
        if (r->failed || strcmp(metric, "return_code") == 0)
            continue;
        if (!json_is_array(v) || strlen(metric) + strlen(name) >= PK_IMPORT_TEXT_MAX)
            pk_import_problem(r, "'%.200s' is not a list", metric);
        else if (has_samples(samples))
            take_list(r, name, metric, samples, true);
        else
            take_list(r, name, metric, v, false);
    }
}

/* --- both -------------------------------------------------------------------------------------------------------------- */

/* One value is what is left of many, and stays a summary. */
static void keep_summaries(struct pk_import_reader *r)
{
    for (size_t i = 0; i < r->out->n_cases; i++)
        for (size_t k = 0; k < r->cases[i].n_metrics; k++) {
            struct pk_imported_metric *m = &r->cases[i].metrics[k];
            if (m->n != 1)
                continue;
            m->summary.n = 1;
            m->summary.mean = m->value[0];
            m->decl.combine = "mean";
            m->n = 0;
            r->out->n_values--;
        }
}

static void read_file(struct pk_import_reader *r)
{
    const int first = getc(r->f);
    rewind(r->f);
    pk_import_json_rows(r, "results", first == '[' ? take_benchmark : take_node);
    if (!r->failed)
        keep_summaries(r);
}

const struct pk_import_source pk_import_superbench = {
    .name = "superbench",
    .files = "results-summary.jsonl, or results.json of a rank",
    .keys = {"node"},
    .begins = {"[\n  {\n    \"name\": "},
    .read = read_file,
};
